/** Sends a request to a server and notes the whole answer. */
type NotedCall = (method: string, path: string, body?: object) => Promise<string>;

/** Calls of a server with a token; `answers` has all that it answered, each with its request and its headers. */
export function noteAnswers(
  url: string,
  token: string,
): { readonly call: NotedCall; readonly answers: readonly string[] } {
  const answers: string[] = [];
  const call: NotedCall = async (method, path, body) => {
    const answer = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    answers.push(`${method} ${path}: ${JSON.stringify([...answer.headers])}${text}`);
    return text;
  };
  return { call, answers };
}

/** Calls every route of the API that answers a reader, for each run of the stack default/one. Resolves with the number of routes. */
export async function readAllRoutes(call: NotedCall, runs: readonly string[]): Promise<number> {
  const { paths } = JSON.parse(await call("GET", "/openapi.json")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const routes = Object.keys(paths).filter(
    (path) => paths[path]?.["get"] !== undefined && path.startsWith("/api/v1/"),
  );
  for (const run of runs) {
    for (const route of routes) {
      const path = route
        .replace("{project}", "default")
        .replace("{stack}", "one")
        .replace("{run}", run);
      if (!path.includes("{")) await call("GET", path);
    }
    for (const form of ["text", "markdown", "html"]) {
      const shown = `/api/v1/projects/default/stacks/one/runs/${run}/plan/rendered`;
      await call("GET", `${shown}?form=${form}`);
    }
  }
  return routes.length;
}
