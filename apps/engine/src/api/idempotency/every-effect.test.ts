import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { allOperationsOf } from "../../testing/api-document.ts";
import { startApi } from "../../testing/start-api.ts";
import { ROUTES_WITHOUT_KEYS } from "./routes-without-keys.ts";

const API = join(import.meta.dirname, "..");

/** The sources of the routes for POST, by the names of their operations. */
function postsOfSources(): ReadonlyMap<string, string> {
  const files = globSync("**/*-routes.ts", { cwd: API });
  const routes = files.flatMap((file) =>
    readFileSync(join(API, file), "utf8").split(/\n {2}(?=fastify\.\w+[<(])/),
  );
  const posts = routes.filter((source) => source.startsWith("fastify.post"));
  return new Map(
    posts.map((source) => {
      const [, name = source] = /routeSchema\(\s*(?:"[^"]*"|`[^`]*`),\s*"(\w+)"/.exec(source) ?? [];
      return [name, source.split("\n  );\n", 1)[0] ?? ""];
    }),
  );
}

it("each POST has a record in the batch of its change or before its effect, or is in the table of those without", async () => {
  const { call } = await startApi("none");
  const posts = allOperationsOf((await call("GET", "/openapi.json")).json).filter(
    // Those without a name are of the registry, which are all recorded before their effects.
    ({ method, path, name }) => method === "POST" && path.startsWith("/api/v1/") && name !== "",
  );
  const sources = postsOfSources();
  const withoutRecord = posts.filter(({ name }) => {
    const source = sources.get(name) ?? "";
    const isRecorded = /\baudited\(|once: "(?:answered|begun-first)"/.test(source);
    return !isRecorded && !(name in ROUTES_WITHOUT_KEYS);
  });
  expect(withoutRecord.map(({ name, path }) => `${name} ${path}`)).toEqual([]);
  expect(posts.length).toBeGreaterThan(40);
});
