/** The complete example of protocol.md §8, with its dots filled in. */
export const exampleText = `fleet: main
policies:
  default:                     # used by a worker that names none
    retries: 3                 # blocked stops before the stop is allowed; null: no cap
    onCap: allow               # allow | escalate
    stuckAfter: null           # escalate after n identical failures
    promises: false
    keepAlives: null           # blocks by pending and idle before the stop is allowed; null: no cap
    persistence: { idle: 12m, hold: 50s, queue: main }
    bypass: [budget_exhausted, deadline_exceeded, user_interrupt]
    stopWhenComplete: false    # after tools, tell the agent to stop as soon as all checks pass, and what a check finds missing
    steps: free                # free | gate
    checks:                    # in order; all must pass; the first that fails decides
      - plan: {}               # every step done; names at most 3 titles, 30 characters each
      - files: [findings.json, principle_updates.json]
      - command: tests         # a command of the runner's own configuration; any check may have a \`name:\`
      - remote: security-scan  # stopgate.<fleet>.check.security-scan
      - any: [{ files: [a.md] }, { files: [b.md] }]
      - all: [{ plan: }]
      - rules: [tests_pass]    # of the attempt's \`validation\`
        when: { filesMatch: "src/**" }
        onError: allow         # allow (default) | block | escalate: error or timeout of this check
        timeout: 120s
  strict: { persistence: off }
assign: [{ agent: codex, policy: strict }]   # by agent, labels or worker; goes before the policy that a worker names
roots: [.]                     # where workers' folders may lie
escalation: { remind: 15m, webhook: { url: "https://example.com/hook", secretEnv: HOOK_SECRET } }
releaseAfter: null             # a stale worker's tasks go back to their queue after this long
commands:                      # only here, never from the wire
  tests: { run: [npm, test], cwd: worker, timeout: 120s, feedback: tail }   # exit 0: pass, 1: fail, else error
  validate: { run: [nous, validate, --execution], feedback: json }          # stdout is the structured difference
`;
