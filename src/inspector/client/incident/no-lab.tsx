/** In place of the policy lab, which needs the service and its log. */
export const Lab = () => <p class="muted pad">The policy lab needs the service.</p>;
