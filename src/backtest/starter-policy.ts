/**
 * The policy of a backtest in a folder without a stopgate.yaml. Both checks need only what a transcript contains.
 */
export const starterPolicy = `policies:
  default:
    checks:
      - plan: {} # every step of the agent's own plan is done
      - name: tests # a test has run since the last change
        ran: "*test*"
        when: { filesModified: true }
`;
