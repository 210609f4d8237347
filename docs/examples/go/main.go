// Asks stopgate whether a worker may stop, stores what the worker does, and serves a check: everything by nats.go.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

const fleet = "main"

// Decision has what most callers need of it; docs/protocol.md §5 has all its fields.
type Decision struct {
	Decision   string `json:"decision"` // allow or block
	Cause      string `json:"cause"`
	Reason     string `json:"reason"`
	NextPrompt string `json:"nextPrompt"`
}

// Question is what a check is asked; docs/protocol.md §8 has all its fields.
type Question struct {
	Worker        string   `json:"worker"`
	FilesModified []string `json:"filesModified"`
}

// Answer of a check. With Pending it cannot tell yet, and is asked again after RetryAfterMs (0: 10 s) until its timeout.
type Answer struct {
	Complete     bool   `json:"complete"`
	Reason       string `json:"reason,omitempty"`
	Pending      bool   `json:"pending,omitempty"`
	RetryAfterMs int    `json:"retryAfterMs,omitempty"`
}

// decide asks until there is an answer: the same attempt gives the same decision and counts once, whichever replica
// answers. It ends if no service answers, or if the NATS server does not permit the request. An error is no verdict:
// nothing was judged.
func decide(ctx context.Context, nc *nats.Conn, worker string, fields map[string]any) (Decision, error) {
	fields["attempt"] = nuid.Next()
	body, err := json.Marshal(fields)
	if err != nil {
		return Decision{}, err
	}
	for {
		once, cancel := context.WithTimeout(ctx, 10*time.Second)
		reply, err := nc.RequestWithContext(once, "stopgate."+fleet+".decide."+worker, body)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			if err = checkService(nc); err == nil {
				continue // a check takes long, or the replica that had the request is gone
			}
		}
		if err != nil {
			return Decision{}, fmt.Errorf("nothing was judged: %w", err)
		}
		if code := reply.Header.Get("Nats-Service-Error-Code"); code != "" {
			return Decision{}, fmt.Errorf("nothing was judged: %s %s", code, reply.Header.Get("Nats-Service-Error"))
		}
		var decision Decision
		return decision, json.Unmarshal(reply.Data, &decision)
	}
}

// checkService asks the fleet's service a simple question. A request may find a listener that is no service, such as a
// person who watches the bus, and a request that the server does not permit gets no answer at all.
func checkService(nc *nats.Conn) error {
	if err := nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) {
		return err
	}
	if _, err := nc.Request("stopgate."+fleet+".list.workers", []byte(`{"limit":1}`), 5*time.Second); err != nil {
		return fmt.Errorf("no stopgate service answers for fleet %s: %w", fleet, err)
	}
	return nil
}

// publish stores an entry about a worker, and waits until the stream has it. A repeat of id is stored once.
func publish(ctx context.Context, js jetstream.JetStream, worker, entry, id string, fields map[string]any) error {
	body, err := json.Marshal(fields)
	if err != nil {
		return err
	}
	_, err = js.Publish(ctx, "stopgate."+fleet+".worker."+worker+"."+entry, body, jetstream.WithMsgID(id))
	return err
}

// serveCheck answers the check `remote: name`. What it cannot judge is an error of the check, never a pass.
func serveCheck(nc *nats.Conn, name string, check func(Question) (Answer, error)) error {
	_, err := nc.QueueSubscribe("stopgate."+fleet+".check."+name, "stopgate-check", func(message *nats.Msg) {
		reply := nats.NewMsg(message.Reply)
		var question Question
		err := json.Unmarshal(message.Data, &question)
		if err == nil {
			var answer Answer
			if answer, err = check(question); err == nil {
				reply.Data, err = json.Marshal(answer)
			}
		}
		if err != nil {
			reply.Header.Set("Nats-Service-Error-Code", "500")
			reply.Header.Set("Nats-Service-Error", err.Error())
		}
		if err := nc.PublishMsg(reply); err != nil {
			log.Printf("the answer of %s was not sent: %v", name, err)
		}
	})
	if err != nil {
		return err
	}
	return nc.Flush()
}

// connect finds the running `stopgate dev` of this folder, or takes STOPGATE_NATS. There, only the role `check` may
// serve a check, and it may do nothing else.
func connect(role string) (*nats.Conn, error) {
	url := os.Getenv("STOPGATE_NATS")
	options := []nats.Option{nats.MaxReconnects(-1)}
	if url == "" {
		var service struct{ Nats string }
		if err := read("service.json", &service); err != nil {
			return nil, err
		}
		url = service.Nats
	}
	var login struct{ User, Pass string }
	if role != "agent" && read(filepath.Join("credentials", role+".json"), &login) == nil {
		options = append(options, nats.UserInfo(login.User, login.Pass))
	}
	return nats.Connect(url, options...)
}

func read(name string, into any) error {
	text, err := os.ReadFile(filepath.Join(".stopgate", name))
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

func run(ctx context.Context) error {
	checks, err := connect("check")
	if err != nil {
		return err
	}
	defer checks.Drain()
	agent, err := connect("agent")
	if err != nil {
		return err
	}
	defer agent.Close()
	js, err := jetstream.New(agent)
	if err != nil {
		return err
	}

	err = serveCheck(checks, "size", func(asked Question) (Answer, error) {
		count := len(asked.FilesModified)
		return Answer{Complete: count <= 1, Reason: fmt.Sprintf("%d files changed, 1 is the limit", count)}, nil
	})
	if err != nil {
		return err
	}
	if err := publish(ctx, js, "w1", "worker.registered", nuid.Next(), map[string]any{"policy": "reviewed"}); err != nil {
		return err
	}
	for _, files := range [][]string{{"a.go", "b.go"}, {"a.go"}} {
		decision, err := decide(ctx, agent, "w1", map[string]any{"output": "I am done", "files": files})
		if err != nil {
			return err
		}
		fmt.Println(decision.Decision, decision.Cause+":", decision.Reason)
	}
	return nil
}

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}
