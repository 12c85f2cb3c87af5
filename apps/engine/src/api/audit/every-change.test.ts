import { expect, it } from "vitest";
import { type ApiOperation, operationsOf } from "../../testing/api-document.ts";
import { filledPath } from "../../testing/filled-path.ts";
import { P, S, startApi } from "../../testing/start-api.ts";

/** What workers ask of a server: the steps that they report are in the events of the run. */
const OF_WORKERS = /^\/api\/v1\/(?:claims|worker)/;
/** Of a server: it notes 60 refusals in a minute. */
const MAX_OPERATIONS = 50;

interface AuditEntry {
  readonly action: string;
  readonly target: string;
  readonly outcome: string;
  readonly actor: string;
}

/** Those of some operations that left no entry of the trail with their caller, target and outcome. */
async function findSilent(operations: readonly ApiOperation[]): Promise<readonly string[]> {
  const { server, call, upload, tokenOf } = await startApi("none");
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const { digest } = (await upload()).json;
  const made = await call("POST", `${S}/runs`, { body: { configuration: digest } });
  const run = String(made.json["id"]);
  const token = await tokenOf("admin");
  const asked: { name: string; target: string; outcome: string }[] = [];
  for (const { name, method, path: template } of operations) {
    const path = filledPath(template, { run });
    const { status, body } = await fetch(server.url + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
    });
    await body?.cancel();
    expect([name, status < 500]).toEqual([name, true]);
    const outcome = status < 400 ? "done" : `HTTP_${status}`;
    asked.push({ name, target: path.slice("/api/v1/".length), outcome });
  }
  const { entries } = (await call("GET", "/api/v1/audit?limit=1000")).json as {
    entries: readonly AuditEntry[];
  };
  return asked.flatMap(({ name, target, outcome }) => {
    const found = entries.findLast((entry) => entry.action === name && entry.target === target);
    if (found?.outcome === outcome && found.actor.startsWith("token-")) return [];
    return [`${name} ${outcome}: ${JSON.stringify(found)}`];
  });
}

it("each operation of the document that is no read leaves an entry with its caller, done or refused", {
  timeout: 120_000,
}, async () => {
  const { call } = await startApi("none");
  const changes = operationsOf((await call("GET", "/openapi.json")).json).filter(
    ({ method, path }) => method !== "GET" && !OF_WORKERS.test(path),
  );
  expect(changes.length).toBeGreaterThan(80);
  const silent: string[] = [];
  for (let first = 0; first < changes.length; first += MAX_OPERATIONS) {
    silent.push(...(await findSilent(changes.slice(first, first + MAX_OPERATIONS))));
  }
  expect(silent).toEqual([]);
});
