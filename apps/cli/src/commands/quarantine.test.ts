import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore, StackDirectory } from "@stackwright/core";
import { StateObject, StateObject_Mode } from "@stackwright/proto/stackwright";
import { tenancyOf } from "@stackwright/storage";
import { expect, it } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

const PROVIDER = "registry.example.com/acme/demo";
const OBJECT = { group: "stackwright", groupVersion: "v1", kind: "StateObject" };

/** A store with stacks of the account `default`, each with as many objects of the provider as is said. */
async function recordObjects(
  directory: string,
  stacks: readonly { readonly name: string; readonly version: string; readonly count: number }[],
): Promise<void> {
  const blobDirectory = join(directory, "blobs");
  await using store = await openStore({ kind: "sqlite", directory }, { blobDirectory });
  const project = { account: "default", project: "web" };
  const names = new StackDirectory({ storage: store.storage });
  for (const { name, version, count } of stacks) {
    const { reference } = await names.ensure(project, name);
    for (let at = 0; at < count; at += 1) {
      const object = StateObject.fromPartial({
        address: `demo_thing.t${at}`,
        type: "demo_thing",
        mode: StateObject_Mode.MODE_MANAGED,
        provider: { source: PROVIDER, version },
      });
      const tenancy = tenancyOf({ kind: "project", ...project });
      await store.storage.writeCAS({
        id: { type: OBJECT, tenancy, name: `${reference.stack}.o${at}`, uid: `${name}-${at}` },
        version: "",
        generation: "1",
        metadata: {},
        status: {},
        data: {
          typeUrl: "type.googleapis.com/stackwright.v1.StateObject",
          value: StateObject.encode(object).finish(),
        },
      });
    }
  }
}

it("a quarantine names the stacks with objects of the version", { timeout: 60_000 }, async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "quarantine-"));
  const directory = join(folder.path, "data");
  await recordObjects(directory, [
    { name: "network", version: "1.1.0", count: 2 },
    { name: "site", version: "1.1.0", count: 1 },
    { name: "newer", version: "1.2.0", count: 1 },
  ]);
  const { server, token } = await startServer("none", {
    store: `sqlite:${directory}`,
    upstreamHosts: ["registry.example.com"],
  });
  const env = { HOME: "/nonexistent", STACKWRIGHT_SERVER: server.url, STACKWRIGHT_TOKEN: token };
  const quarantine = async (version: string, ...words: readonly string[]) =>
    (await tryCommand(["providers", "quarantine", PROVIDER, version, ...words], { env })).output;
  expect(await quarantine("1.1.0")).toBe(
    [
      `In quarantine: ${PROVIDER} 1.1.0`,
      "2 stacks have objects of it; runs that would start this version are refused:",
      "  web/network: 2 resources",
      "  web/site: 1 resource",
      "",
    ].join("\n"),
  );
  const doctor = (await tryCommand(["server", "doctor"], { env })).output;
  expect(doctor).toContain(`2 objects were written with ${PROVIDER} 1.1.0, which is in quarantine`);
  expect(doctor).not.toContain("newer");
  expect(JSON.parse(await quarantine("1.2.0", "--json"))).toMatchObject({
    provider: PROVIDER,
    stacks: [{ project: "web", stack: "newer", resources: 1 }],
  });
  expect(await quarantine("1.3.0")).toBe(
    `In quarantine: ${PROVIDER} 1.3.0\nNo stack has objects of it under this address.\n`,
  );
});
