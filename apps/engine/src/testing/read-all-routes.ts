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

/** What stands for the parameters of paths, beside the runs; of routes with others nothing is read. */
const NAMES: Readonly<Record<string, readonly string[]>> = {
  project: ["default"],
  stack: ["one"],
  category: ["terraform", "env"],
  key: ["word", "TF_VAR_other", "shared"],
  set: ["shared"],
  connection: ["infra"],
  pull_request: ["1"],
  destination: ["ops", "chat", "mail"],
  webhook: ["siem"],
};

/**
 * Calls every route of the API that answers a reader, for each run of the stack default/one and all that tests of secrets name. Resolves
 * with the number of routes that were called.
 */
export async function readAllRoutes(call: NotedCall, runs: readonly string[]): Promise<number> {
  const { paths } = JSON.parse(await call("GET", "/openapi.json")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  };
  const routes = Object.keys(paths).filter(
    (path) => paths[path]?.["get"] !== undefined && path.startsWith("/api/v1/"),
  );
  let read = 0;
  for (const route of routes) {
    const all = filled(route, { ...NAMES, run: runs });
    for (const path of all) await call("GET", path);
    if (all.length > 0) read += 1;
  }
  for (const run of runs) {
    for (const form of ["text", "markdown", "html"]) {
      const shown = `/api/v1/projects/default/stacks/one/runs/${run}/plan/rendered`;
      await call("GET", `${shown}?form=${form}`);
    }
  }
  return read;
}

/** A route with each combination of the values of its parameters; none where one has no values. */
function filled(
  route: string,
  values: Readonly<Record<string, readonly string[]>>,
): readonly string[] {
  const [whole, name = ""] = /\{([^}]+)\}/.exec(route) ?? [];
  if (whole === undefined) return [route];
  return (values[name] ?? []).flatMap((value) => filled(route.replace(whole, value), values));
}
