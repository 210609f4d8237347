package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/anishathalye/porcupine"
)

// Operations that are right or wrong whatever the others do.
type part struct {
	name       string
	model      porcupine.Model
	operations []porcupine.Operation
}

// One part for each worker: its count and its decisions. One for each task: who holds it.
func partsOf(recorded history) []part {
	workers, tasks := map[string]*part{}, map[string]*part{}
	add := func(parts map[string]*part, kind, id string, model porcupine.Model, it operation) {
		if parts[id] == nil {
			parts[id] = &part{name: kind + " " + id, model: model}
		}
		parts[id].operations = append(parts[id].operations, it.asPorcupine())
	}
	ids := map[string]bool{}
	for _, it := range recorded.Operations {
		if it.Task != "" {
			ids[it.Task] = true
		}
	}
	for _, it := range recorded.Operations {
		isLost := it.Answer == nil
		switch it.Kind {
		case "decide":
			add(workers, "worker", it.Worker, workerModel(recorded.Retries), it)
		case "probe", "read":
			if !isLost {
				add(workers, "worker", it.Worker, workerModel(recorded.Retries), it)
			}
		case "prompt":
			add(workers, "worker", it.Worker, workerModel(recorded.Retries), it)
		case "claim", "release":
			add(tasks, "task", it.Task, taskModel(), it)
		case "holder":
			if !isLost {
				add(tasks, "task", it.Task, taskModel(), it)
			}
		case "held": // a decision that was asked for to see the tasks that it names
			for id := range ids {
				if !isLost {
					seen := it
					seen.Task = id
					add(tasks, "task", id, taskModel(), seen)
				}
			}
		default:
			panic("no operation is named " + it.Kind)
		}
	}
	return append(sorted(workers), sorted(tasks)...)
}

func sorted(parts map[string]*part) []part {
	found := []part{}
	for _, it := range parts {
		found = append(found, *it)
	}
	sort.Slice(found, func(a, b int) bool { return found[a].name < found[b].name })
	return found
}

// A worker's count of blocks, and the answer that each attempt got.
type workerState struct {
	count     int
	decisions string // ` attempt=cause/count` for each, sorted
}

func (state workerState) decision(attempt string) string {
	_, rest, isKnown := strings.Cut(state.decisions, " "+attempt+"=")
	if !isKnown {
		return ""
	}
	found, _, _ := strings.Cut(rest, " ")
	return found
}

func (state workerState) with(count int, attempt, decision string) workerState {
	all := append(strings.Fields(state.decisions), attempt+"="+decision)
	sort.Strings(all)
	return workerState{count, " " + strings.Join(all, " ")}
}

func workerModel(retries int) porcupine.Model {
	// What the next attempt gets, and the count after it: each fails, blocks count up to the cap, and the one past it may stop.
	next := func(count int) (decision string, after int) {
		if count >= retries {
			return fmt.Sprintf("capped/%d", count), 0
		}
		return fmt.Sprintf("incomplete/%d", count+1), count + 1
	}
	return porcupine.Model{
		Init: func() any { return workerState{} },
		Step: func(given, input, output any) (bool, any) {
			state, it := given.(workerState), input.(operation)
			got, _ := output.(*answer)
			said := func() string { return fmt.Sprintf("%s/%d", got.Cause, got.Count) }
			switch it.Kind {
			case "decide":
				if known := state.decision(it.Attempt); known != "" {
					return got == nil || said() == known, state
				}
				decision, after := next(state.count)
				return got == nil || said() == decision, state.with(after, it.Attempt, decision)
			case "probe":
				decision, _ := next(state.count)
				return said() == decision, state
			case "read":
				return got.Count == state.count, state
			default: // prompt: a person has spoken, and counting starts again
				return true, workerState{0, state.decisions}
			}
		},
		DescribeOperation: describe,
		DescribeState:     func(state any) string { return fmt.Sprintf("count %d", state.(workerState).count) },
	}
}

// A task's state is its holder; "": nobody.
func taskModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return "" },
		Step: func(given, input, output any) (bool, any) {
			holder, it := given.(string), input.(operation)
			got, _ := output.(*answer)
			switch it.Kind {
			case "claim": // of a task that another holds: refused
				if holder == "" {
					return true, it.Worker
				}
				return true, holder
			case "release": // by another: refused
				if holder == it.Worker {
					return true, ""
				}
				return true, holder
			case "holder":
				return got.Holder == holder, holder
			default: // held
				return slices.Contains(got.Tasks, it.Task) == (holder == it.Worker), holder
			}
		},
		DescribeOperation: describe,
		DescribeState: func(state any) string {
			if state == "" {
				return "nobody"
			}
			return state.(string)
		},
	}
}

func describe(input, output any) string {
	it := input.(operation)
	got, _ := output.(*answer)
	words := strings.Join(strings.Fields(it.Kind+" "+it.Worker+" "+it.Task+" "+it.Attempt), " ")
	switch {
	case got == nil && it.Return == nil:
		return words + " -> ?"
	case got == nil:
		return words
	case it.Kind == "read":
		return fmt.Sprintf("%s -> %d", words, got.Count)
	case it.Kind == "holder":
		return fmt.Sprintf("%s -> %q", words, got.Holder)
	case it.Kind == "held":
		return fmt.Sprintf("%s -> %v", words, got.Tasks)
	default:
		return fmt.Sprintf("%s -> %s %d", words, got.Cause, got.Count)
	}
}
