// Judges recorded histories with Porcupine: is there one order of all operations, each between its call and its return,
// in which every answer is right? `go run . HISTORY.json ...` prints a line of JSON for each; exit code 1: a history has
// no such order, 2: it was not found in time.
package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// Of one worker or task. A legal history takes milliseconds.
const timeout = 60 * time.Second

type history struct {
	// The policy's cap.
	Retries    int         `json:"retries"`
	Operations []operation `json:"operations"`
}

// An operation as a client saw it. Times are microseconds of one clock.
type operation struct {
	Client int    `json:"client"`
	Call   int64  `json:"call"`
	Return *int64 `json:"return"` // null: nobody knows whether and when it happened
	Kind   string `json:"kind"`   // decide, probe, read, prompt; claim, release, holder
	Worker string `json:"worker"`
	Task   string `json:"task"`
	// The attempt of a decide.
	Attempt string  `json:"attempt"`
	Answer  *answer `json:"answer"` // null: it has none, or it was lost
}

type answer struct {
	Cause  string   `json:"cause"`
	Count  int      `json:"count"`
	Tasks  []string `json:"tasks"`
	Holder string   `json:"holder"` // of a task; "": nobody
}

type violation struct {
	Of string `json:"of"`
	// The first operation that fits nowhere in the longest order that was found.
	Operation string `json:"operation"`
	Picture   string `json:"picture"`
}

type verdict struct {
	History    string      `json:"history"`
	Operations int         `json:"operations"`
	Parts      int         `json:"parts"`
	Violations []violation `json:"violations"`
	Unjudged   []string    `json:"unjudged"`
}

func main() {
	code := 0
	for _, path := range os.Args[1:] {
		found, err := judge(path)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", path, err)
			os.Exit(3)
		}
		line, _ := json.Marshal(found)
		fmt.Println(string(line))
		if len(found.Violations) > 0 {
			code = 1
		} else if len(found.Unjudged) > 0 && code == 0 {
			code = 2
		}
	}
	os.Exit(code)
}

func judge(path string) (verdict, error) {
	found := verdict{History: path, Violations: []violation{}, Unjudged: []string{}}
	text, err := os.ReadFile(path)
	if err != nil {
		return found, err
	}
	var recorded history
	if err := json.Unmarshal(text, &recorded); err != nil {
		return found, err
	}
	found.Operations = len(recorded.Operations)
	for _, part := range partsOf(recorded) {
		found.Parts++
		result, info := porcupine.CheckOperationsVerbose(part.model, part.operations, timeout)
		switch result {
		case porcupine.Unknown:
			found.Unjudged = append(found.Unjudged, part.name)
		case porcupine.Illegal:
			picture := strings.TrimSuffix(path, ".json") + "." + strings.ReplaceAll(part.name, " ", "-") + ".html"
			if err := porcupine.VisualizePath(part.model, info, picture); err != nil {
				return found, err
			}
			found.Violations = append(found.Violations, violation{part.name, misfit(part, info), picture})
		}
	}
	return found, nil
}

// The first operation by its return that the longest order does not have.
func misfit(part part, info porcupine.LinearizationInfo) string {
	longest := map[int]bool{}
	for _, order := range info.PartialLinearizations()[0] {
		if len(order) > len(longest) {
			longest = map[int]bool{}
			for _, index := range order {
				longest[index] = true
			}
		}
	}
	first := -1
	for index, it := range part.operations {
		if !longest[index] && (first < 0 || it.Return < part.operations[first].Return) {
			first = index
		}
	}
	if first < 0 {
		return ""
	}
	it := part.operations[first]
	return part.model.DescribeOperation(it.Input, it.Output)
}

// Porcupine's form. What may have happened at any time, or never, returns at the end of time.
func (it operation) asPorcupine() porcupine.Operation {
	end := int64(math.MaxInt64)
	if it.Return != nil {
		end = *it.Return
	}
	return porcupine.Operation{ClientId: it.Client, Input: it, Call: it.Call, Output: it.Answer, Return: end}
}
