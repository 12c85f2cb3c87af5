import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { serve } from "./serve.ts";
import { parseServeArguments } from "./serve-arguments.ts";

it("reserves the namespaces that the command line names for site-admins", async () => {
  const directory = await mkdtemp(join(tmpdir(), "reserved-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const bootstrapFile = join(directory, "first.json");
  const args = ["--store", "memory:", "--port", "0", "--bootstrap-file", bootstrapFile].concat(
    ["our-company", "platform-team"].flatMap((name) => ["--reserved-namespace", name]),
  );
  const options = await parseServeArguments(args, {}, directory);
  expect(options.reservedNamespaces).toEqual(["our-company", "platform-team"]);
  const server = await serve(options, { directory, logs: { write: () => undefined }, env: {} });
  onTestFinished(() => server.close());
  const first = JSON.parse(await readFile(bootstrapFile, "utf8")) as BootstrapCredentials;
  const send = async (method: string, path: string, token: string, body: object) => {
    const answer = await fetch(`${server.url}/api/v1/registry${path}`, {
      method,
      headers: { "x-auth-token": token, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };

  const admin = await send("POST", "/tokens", first.token, { roles: ["registry:admin"] });
  const token = String(admin.body["token"]);
  for (const name of ["our-company", "ourcompany", "platform-team"]) {
    expect(await send("PUT", `/namespaces/${name}`, token, {})).toMatchObject({
      status: 403,
      body: { error: { code: "REGISTRY_NAMESPACE_RESERVED" } },
    });
  }
  expect(await send("PUT", "/namespaces/tools", token, {})).toMatchObject({ status: 200 });
  expect(await send("PUT", "/namespaces/our-company", first.token, {})).toMatchObject({
    status: 200,
  });
});
