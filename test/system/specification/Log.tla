-------------------------------- MODULE Log --------------------------------
(***************************************************************************)
(* The log, its folds, snapshots, the cut behind them, and takeover.       *)
(* Attempts of one worker are entries. A fold counts them: an attempt is   *)
(* blocked until the count has reached the cap. Each needs a check, which  *)
(* its owner runs; a check's result is an entry, and so is a takeover.     *)
(* docs/protocol.md, sections 2, 5, 9 and 15.                              *)
(*                                                                         *)
(* `Bug` plants one; "none" is what holds.                                 *)
(***************************************************************************)
EXTENDS Naturals, Sequences, FiniteSets, TLC

CONSTANTS Replicas, Attempts, Cap, LogMax, Bug

None == "none"

(* Entries. The log may hold each more than once: what it recognises as repeated by its id is bounded by time. *)
Attempted(a, r) == [type |-> "attempted", attempt |-> a, replica |-> r, result |-> None]
Accepted(a, from, r) == [type |-> "accepted", attempt |-> a, replica |-> r, result |-> from]
Finished(a, result) == [type |-> "finished", attempt |-> a, replica |-> None, result |-> result]
Results == {"pass", "fail"}

(* The fold's state: the count of blocks, the owner and the decision of each attempt that is known. *)
Empty == [count |-> 0, owner |-> [a \in Attempts |-> None], decided |-> [a \in Attempts |-> None]]

Step(s, e) ==
  LET owner == s.owner[e.attempt]
      isDecided == s.decided[e.attempt] # None
  IN CASE e.type = "attempted" ->
            IF owner = None THEN [s EXCEPT !.owner[e.attempt] = e.replica]
            ELSE IF isDecided /\ Bug = "judged again" THEN [s EXCEPT !.decided[e.attempt] = None]
            ELSE s \* a repeated one counts once
       [] e.type = "accepted" ->
            (* The first in the log counts: the others name an owner that it has no longer. *)
            IF isDecided \/ owner # e.result THEN s ELSE [s EXCEPT !.owner[e.attempt] = e.replica]
       [] e.type = "finished" ->
            (* The first result counts. *)
            IF owner = None \/ (isDecided /\ Bug # "last result") THEN s
            ELSE IF e.result = "pass" THEN [s EXCEPT !.decided[e.attempt] = "complete", !.count = 0]
            ELSE IF (IF Bug = "cap" THEN s.count > Cap ELSE s.count >= Cap)
                 THEN [s EXCEPT !.decided[e.attempt] = "capped", !.count = 0]
                 ELSE [s EXCEPT !.decided[e.attempt] = "blocked", !.count = s.count + 1]

RECURSIVE Fold(_, _)
Fold(s, entries) == IF entries = <<>> THEN s ELSE Fold(Step(s, Head(entries)), Tail(entries))

VARIABLES
  log,        \* all that was ever stored, in its order
  first,      \* the log holds what stands from here on; earlier entries are cut
  snapshots,  \* kept, in the order in which they were taken: [seq, state]
  damaged,    \* of them, those that cannot be read
  spare,      \* no snapshot was damaged since the last cut
  state,      \* of each replica: what it has folded
  seq,        \* of each replica: up to where
  running,    \* the replicas that run
  told        \* what callers were told: [attempt, decision]

vars == <<log, first, snapshots, damaged, spare, state, seq, running, told>>

Append1(e) == Len(log) < LogMax /\ log' = Append(log, e)
Others == <<first, snapshots, damaged, spare, state, seq, running, told>>

Init ==
  /\ log = <<>> /\ first = 1 /\ snapshots = <<>> /\ damaged = {} /\ spare = TRUE /\ told = {}
  /\ state = [r \in Replicas |-> Empty] /\ seq = [r \in Replicas |-> 0] /\ running = Replicas

(* A caller asks a replica, perhaps again: the attempt becomes an entry. *)
Ask(r, a) == r \in running /\ Append1(Attempted(a, r)) /\ UNCHANGED Others

OpenFor(r, a) == state[r].decided[a] = None /\ state[r].owner[a] # None

(* The owner by its own fold, which may be behind, runs the check. Two that think so may see different results. *)
Finish(r, a, result) ==
  /\ r \in running /\ OpenFor(r, a)
  /\ state[r].owner[a] = r
  /\ Append1(Finished(a, result))
  /\ UNCHANGED Others

(* Another takes over from an owner that does not run. *)
Accept(r, a) ==
  /\ r \in running /\ OpenFor(r, a)
  /\ state[r].owner[a] # r
  /\ state[r].owner[a] \notin running
  /\ Append1(Accepted(a, state[r].owner[a], r))
  /\ UNCHANGED Others

(* The bug that a takeover must not be: the one who takes over decides at once, by what it has folded. *)
TakeOverUnfolded(r, a) ==
  /\ Bug = "takeover without the fold" /\ r \in running
  /\ \E i \in DOMAIN log : log[i].type = "attempted" /\ log[i].attempt = a /\ log[i].replica \notin running
  /\ state[r].decided[a] = None
  /\ told' = told \cup {[attempt |-> a, decision |-> Step([state[r] EXCEPT !.owner[a] = r], Finished(a, "fail")).decided[a]]}
  /\ UNCHANGED <<log, first, snapshots, damaged, spare, state, seq, running>>

Decisions(s) == {[attempt |-> a, decision |-> s.decided[a]] : a \in {it \in Attempts : s.decided[it] # None}}

(* The log delivers the next entry. Callers ask all the time: what is decided is told at once. *)
Deliver(r) ==
  /\ r \in running /\ seq[r] < Len(log) /\ seq[r] + 1 >= first
  /\ seq' = [seq EXCEPT ![r] = @ + 1]
  /\ state' = [state EXCEPT ![r] = Step(@, log[seq[r] + 1])]
  /\ told' = told \cup Decisions(state'[r])
  /\ UNCHANGED <<log, first, snapshots, damaged, spare, running>>

(* The bug: an answer that does not wait for the log. *)
TellUnstored(r, a) ==
  /\ Bug = "told before stored" /\ r \in running /\ state[r].owner[a] = None
  /\ told' = told \cup {[attempt |-> a, decision |-> Fold(state[r], <<Attempted(a, r), Finished(a, "fail")>>).decided[a]]}
  /\ UNCHANGED <<log, first, snapshots, damaged, spare, state, seq, running>>

(* The newest three are kept. *)
Snapshot(r) ==
  /\ r \in running /\ seq[r] > 0
  /\ \A i \in DOMAIN snapshots : snapshots[i].seq < seq[r]
  /\ LET all == Append(snapshots, [seq |-> seq[r],
                  state |-> IF Bug = "snapshot forgets" THEN [state[r] EXCEPT !.decided = Empty.decided] ELSE state[r]])
     IN snapshots' = IF Len(all) > 3 THEN Tail(all) ELSE all
  /\ UNCHANGED <<log, first, damaged, spare, state, seq, running, told>>

Readable == SelectSeq(snapshots, LAMBDA it : it.seq \notin damaged)

(* Retention: what the second newest snapshot that can be read covers. Its own entry stays, as the proof of its log. *)
Cut ==
  /\ LET kept == IF Bug = "counts damaged ones" THEN snapshots ELSE Readable
         back == IF Bug = "cut behind the newest" THEN 0 ELSE 1
     IN /\ Len(kept) > back
        /\ first < kept[Len(kept) - back].seq
        /\ first' = kept[Len(kept) - back].seq
  /\ spare' = TRUE
  /\ UNCHANGED <<log, snapshots, damaged, state, seq, running, told>>

(* One snapshot between two cuts is damaged: then the next older one must do. *)
Damage ==
  /\ spare /\ spare' = FALSE
  /\ \E i \in DOMAIN snapshots : damaged' = damaged \cup {snapshots[i].seq}
  /\ UNCHANGED <<log, first, snapshots, state, seq, running, told>>

Crash(r) ==
  /\ r \in running /\ running' = running \ {r}
  /\ state' = [state EXCEPT ![r] = Empty] /\ seq' = [seq EXCEPT ![r] = 0]
  /\ UNCHANGED <<log, first, snapshots, damaged, spare, told>>

(* A start takes the newest snapshot that can be read, or the log from its beginning. *)
Start(r) ==
  /\ r \notin running /\ running' = running \cup {r}
  /\ LET from == IF Readable = <<>> THEN [seq |-> 0, state |-> Empty] ELSE Readable[Len(Readable)]
     IN /\ seq' = [seq EXCEPT ![r] = IF Bug = "start skips" /\ from.seq < Len(log) THEN from.seq + 1 ELSE from.seq]
        /\ state' = [state EXCEPT ![r] = from.state]
        /\ told' = told \cup Decisions(from.state)
  /\ UNCHANGED <<log, first, snapshots, damaged, spare>>

Next ==
  \/ \E r \in Replicas, a \in Attempts :
       \/ Ask(r, a) \/ Accept(r, a) \/ TellUnstored(r, a) \/ TakeOverUnfolded(r, a)
       \/ \E result \in Results : Finish(r, a, result)
  \/ \E r \in Replicas : Deliver(r) \/ Snapshot(r) \/ Crash(r) \/ Start(r)
  \/ Cut \/ Damage

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(* What must hold; docs/reliability.md names each beside its promise. *)

Whole(n) == Fold(Empty, SubSeq(log, 1, n))

(* Replicas agree: where two stand at one place of the log, they have one state. *)
ReplicasAgree == \A r \in running : state[r] = Whole(seq[r])

(* What a caller was told is in the log. *)
NothingLost == \A it \in told : Whole(Len(log)).decided[it.attempt] = it.decision

(* An attempt has one decision, whoever answers, and after a takeover too. *)
OneDecision == \A one, other \in told : one.attempt = other.attempt => one.decision = other.decision

(* A snapshot and the rest of the log give what the whole log gives. *)
SnapshotFolds ==
  \A i \in DOMAIN snapshots : Fold(snapshots[i].state, SubSeq(log, snapshots[i].seq + 1, Len(log))) = Whole(Len(log))

(* A replica can start, although a snapshot is damaged: what it needs was not cut. *)
NothingNeededIsCut ==
  LET from == IF Readable = <<>> THEN 0 ELSE Readable[Len(Readable)].seq IN first <= from + 1

(* No count exceeds its cap. *)
CountWithinCap == \A r \in running : state[r].count <= Cap
Symmetry == Permutations(Replicas) \cup Permutations(Attempts)
=============================================================================
