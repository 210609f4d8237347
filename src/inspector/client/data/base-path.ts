/** The path of the service as the browser sees it. A proxy may serve it under a prefix. */

/** `/`, or a prefix such as `/stopgate/`. The page is there, and the script of its SharedWorker in `assets/` below. */
export const basePath = (): string => location.pathname.replace(/(?:assets\/)?[^/]*$/, '');
