// Asks stopgate twice whether a worker may stop: with an open step, and when it is done.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

type step struct {
	Title  string `json:"title"`
	Status string `json:"status"`
}

type decision struct {
	Decision string `json:"decision"` // allow or block
	Cause    string `json:"cause"`
	Reason   string `json:"reason"`
}

// serverURL returns STOPGATE_NATS, or the server of the `stopgate dev` that runs in this folder.
func serverURL() string {
	if url := os.Getenv("STOPGATE_NATS"); url != "" {
		return url
	}
	text, err := os.ReadFile(".stopgate/service.json")
	if err != nil {
		return nats.DefaultURL
	}
	var service struct {
		Nats string `json:"nats"`
	}
	if err := json.Unmarshal(text, &service); err != nil {
		log.Fatal(err)
	}
	return service.Nats
}

// ask sends a request. The service says in a header that it refuses one.
func ask(nc *nats.Conn, subject string, body any, reply any) {
	data, err := json.Marshal(body)
	if err != nil {
		log.Fatal(err)
	}
	message, err := nc.Request(subject, data, time.Minute) // "no responders": no service serves this fleet
	if err != nil {
		log.Fatal(err)
	}
	if problem := message.Header.Get("Nats-Service-Error"); problem != "" {
		log.Fatal(problem)
	}
	if reply != nil {
		if err := json.Unmarshal(message.Data, reply); err != nil {
			log.Fatal(err)
		}
	}
}

func main() {
	nc, err := nats.Connect(serverURL())
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	for _, status := range []string{"pending", "done"} {
		plan := map[string]any{"steps": []step{{"Write tests", status}}}
		// A published entry is stored by JetStream, which acknowledges it like a reply.
		ask(nc, "stopgate.main.worker.go-1.plan.updated", plan, nil)
		var answer decision
		ask(nc, "stopgate.main.decide.go-1", map[string]string{"output": "I am done"}, &answer)
		fmt.Println(answer.Decision, answer.Cause, answer.Reason)
	}
}
