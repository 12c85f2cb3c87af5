import { randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { BootstrapCredentials } from "@stackwright/engine";
import { expect, it, onTestFinished } from "vitest";
import { runSpawned, spawnCommand } from "../testing/spawned-command.ts";

// docs/private-providers.md as somebody follows it: its files as they stand there, its commands with other ports.

const ROOT = fileURLToPath(new URL("../../../..", import.meta.url));
const GUIDE = join(ROOT, "docs/private-providers.md");

/** The first blocks of code of some languages, in the order of the guide. */
async function blocksOf(...languages: readonly string[]): Promise<string[]> {
  const text = await readFile(GUIDE, "utf8");
  const blocks = [...text.matchAll(/^```(\w+)\n(.*?)^```$/gms)];
  return blocks
    .filter(([, language = ""]) => languages.includes(language))
    .map(([, , content = ""]) => content);
}

it("leads from nothing to a provider in use, and to its second version", {
  timeout: 300_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "guide "));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const file = (name: string) => join(cwd, name);
  await mkdir(file("stack"));
  await mkdir(file("notes"));
  await symlink(join(ROOT, "node_modules"), file("node_modules"));
  const [provider = "", functions = "", table = "", template = ""] = await blocksOf(
    "ts",
    "json",
    "hcl",
  );
  expect((await blocksOf("ts", "json", "hcl")).length).toBe(4);
  await writeFile(file("notes.ts"), provider);
  await writeFile(file("functions.json"), functions);
  await writeFile(file("stack/main.tf"), template);
  await writeFile(file("platform-key.json"), '{"accessKey": "any", "secretKey": "any"}');

  const platform = spawnCommand(["functions", "serve", "functions.json", "--port", "0"], { cwd });
  onTestFinished(() => platform[Symbol.asyncDispose]());
  const [, endpoint = ""] = await platform.waitFor(/functions? (?:is|are) at (http:\S+)/);
  expect(table).toContain("http://127.0.0.1:9000");
  await writeFile(file("table.json"), table.replace("http://127.0.0.1:9000", endpoint));
  const words = "serve --store sqlite:registry --functions table.json --bootstrap-file";
  const server = spawnCommand([...words.split(" "), "credentials.json", "--port", "0"], { cwd });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const [, url = ""] = await server.waitFor(/The server is at (http:\S+)/);
  const credentials = await readFile(file("credentials.json"), "utf8");
  const { token } = JSON.parse(credentials) as BootstrapCredentials;

  const call = async (path: string, body?: object) => {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: {
        "x-auth-token": token,
        "client-request-id": randomUUID(),
        ...(body !== undefined && { "content-type": "application/json" }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const urnOf = (name: string) =>
    `urn:fss:local:a61dfe3154de42829367056598d5040f:function:default:${name}:latest`;
  expect(functions).toContain(urnOf("notes"));
  const created = await call("/v1/private-providers", {
    provider_name: "notes",
    provider_version: "1.0.0",
    function_graph_urn: urnOf("notes"),
  });
  expect(created.text).toContain("huawei.com/private-provider/notes");
  const checks = "/api/v1/registry/private-providers/notes/versions/1.0.0/checks";
  expect((await call(checks)).text).toContain('"healthy":true');

  const env = {
    STACKWRIGHT_REGISTRY: url,
    STACKWRIGHT_REGISTRY_CREDENTIALS: file("credentials.json"),
    STACKWRIGHT_FUNCTIONS: file("table.json"),
  };
  const run = async (...command: string[]) => runSpawned(command, { cwd: file("stack"), env });
  const up = await run("up", "--yes");
  expect(up.text).toContain("Apply complete: 1 added, 0 changed, 0 destroyed.");
  expect(await readFile(file("notes/todo.txt"), "utf8")).toBe("Write a provider.");
  expect((await run("plan", "--detailed-exitcode")).code).toBe(0);

  // The second version, as the guide says it.
  const changed = provider
    .replace("  defineResource,\n", "  defineResource,\n  optional,\n")
    .replace(
      "    text: required(types.string),\n  },\n",
      "    text: required(types.string),\n    mood: optional(types.string),\n  },\n" +
        "  version: 1,\n  upgrade: (stored) => ({ ...stored, mood: null }),\n",
    );
  await writeFile(file("notes2.ts"), changed);
  const { functions: rows } = JSON.parse(functions) as { readonly functions: readonly object[] };
  const row = { ...rows[0], urn: urnOf("notes2"), command: ["node", "notes2.ts"] };
  await writeFile(file("functions.json"), JSON.stringify({ functions: [...rows, row] }));
  await platform.waitFor(/notes2:latest: added/);
  const version = { provider_version: "2.0.0", function_graph_urn: urnOf("notes2") };
  expect((await call("/v1/private-providers/notes/versions", version)).status).toBe(201);
  const next = template
    .replace('"1.0.0"', '"2.0.0"')
    .replace('text = "Write a provider."', 'text = "Write a provider."\n  mood = "good"');
  await writeFile(file("stack/main.tf"), next);
  expect((await run("up", "--yes")).text).toContain("0 added, 1 changed, 0 destroyed");
  await writeFile(file("stack/main.tf"), template);
  expect((await run("plan")).text).toContain("managed by newer provider version");

  await writeFile(file("stack/main.tf"), next);
  expect((await run("destroy", "--yes")).text).toContain("0 added, 0 changed, 1 destroyed");
  expect(await server.stop()).toBe(0);
  expect(await platform.stop()).toBe(0);
});
