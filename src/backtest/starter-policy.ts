/**
 * The policy of a backtest in a folder without a stopgate.yaml. Both checks need nothing but what a transcript holds.
 */
export const starterPolicy = `policies:
  default:
    checks:
      - plan: {} # every step of the agent's own plan is done
      - name: tests # a test has run since the last change
        ran: "*test*"
        when: { filesModified: true }
`;
