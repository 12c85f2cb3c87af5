import { spawn, spawnSync } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { mkdir, mkdtempDisposable, readFile, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@stackwright/base/clock";
import { FunctionTargetTable } from "@stackwright/fg-bridge";
import { createBridgeArchiveSource } from "@stackwright/fg-bridge/bridge";
import {
  createLifecycleRunner,
  type FunctionServer,
  serveFunction,
} from "@stackwright/fg-bridge/function";
import {
  computed,
  createProvider,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import {
  CredentialStore,
  createAuthenticator,
  createKeyRing,
  createRegistry,
} from "@stackwright/registry";
import { rfsPlugin } from "@stackwright/registry/rfs";
import { terraformPlugin } from "@stackwright/registry/terraform";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import fastify from "fastify";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

/*
 * A provider that lives in a function, registered through the RFS API, is installed and used by the unmodified command:
 * from the registry, and from the network mirror under its own address.
 */

const found = spawnSync("terraform", ["version", "-json"], { encoding: "utf8" });
const version = /"terraform_version":\s*"([^"]+)"/.exec(found.stdout ?? "")?.[1];
const absent =
  found.status !== 0
    ? "the command terraform is not installed"
    : version?.startsWith("1.11.") === true
      ? undefined
      : `terraform ${version} is not the recorded 1.11`;

const REGION = "cn-north-7";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const urnOf = (name: string) => `urn:fss:${REGION}:${PROJECT}:function:default:${name}:latest`;

let cleanup = new AsyncDisposableStack();
beforeEach((ctx) => {
  ctx.skip(absent !== undefined, absent ?? "");
});
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** A provider of notes that lie in a folder, in two versions: the second one has another form of its objects. */
function notes(folder: string, release: 1 | 2) {
  const pathOf = (name?: string | null) => join(folder, `${name}.txt`);
  const write = (name?: string | null, text?: string | null) => writeFile(pathOf(name), text ?? "");
  const common = {
    delete: ({ name }: { readonly name: string | null }) => rm(pathOf(name), { force: true }),
  };
  const first = defineResource({
    attributes: {
      id: computed(types.string, { stable: true }),
      name: required(types.string, { replaces: true }),
      text: required(types.string),
    },
    create: async ({ name, text }) => {
      await write(name, text);
      return { id: name ?? "" };
    },
    update: async ({ name, text }) => {
      await write(name, text);
      return {};
    },
    ...common,
  });
  const second = defineResource({
    attributes: {
      id: computed(types.string, { stable: true }),
      name: required(types.string, { replaces: true }),
      text: required(types.string),
      mood: optional(types.string),
    },
    version: 1,
    create: async ({ name, text }) => {
      await write(name, text);
      return { id: name ?? "" };
    },
    update: async ({ name, text }) => {
      await write(name, text);
      return {};
    },
    upgrade: (stored) => ({
      id: String(stored.id),
      name: String(stored.name),
      text: String(stored.text),
      mood: null,
    }),
    ...common,
  });
  return createProvider({
    config: {},
    configure: () => undefined,
    resources: { notes_note: release === 1 ? first : second },
  });
}

async function setUp() {
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "private-")));
  const folder = join(scratch.path, "notes");
  await mkdir(folder);
  const functions: FunctionServer[] = [];
  for (const release of [1, 2] as const) {
    const runner = createLifecycleRunner({
      name: `notes ${release}`,
      create: () => notes(folder, release),
    });
    functions.push(cleanup.use(await serveFunction({ runner, port: 0 })));
  }
  const [one, two] = functions;
  if (one === undefined || two === undefined) throw new Error("no functions");
  const rows = { [urnOf("notes-one")]: { url: one.url }, [urnOf("notes-two")]: { url: two.url } };
  const targets = cleanup.use(
    new FunctionTargetTable({ functions: rows, guard: { allow: ["127.0.0.0/8"] } }),
  );
  const bridge = await createBridgeArchiveSource({
    targets,
    endpointOf: ({ functionUrn }) => ({ kind: "url", url: rows[functionUrn]?.url ?? "" }),
    networks: ["127.0.0.0/8"],
  });

  const storage = cleanup.use(createMemoryStorage());
  const blobs = cleanup.use(await createDirectoryBlobs({ directory: join(scratch.path, "blobs") }));
  const keys = createKeyRing([randomBytes(32)]);
  const registry = createRegistry({ storage, blobs, keys, clock: systemClock });
  const credentials = new CredentialStore({
    records: registry.parts.records,
    keys,
    clock: systemClock,
  });
  const authenticator = createAuthenticator({ credentials, clock: systemClock, region: REGION });
  const identity = createSelfSignedIdentity({ name: "localhost" });
  const server = fastify({
    routerOptions: { maxParamLength: 1024 },
    genReqId: () => randomUUID(),
    https: { cert: String(identity.certificate), key: String(identity.privateKey) },
  });
  const common = { registry, authenticator, region: REGION };
  await server.register(rfsPlugin, { ...common, prefix: "/v1" });
  await server.register(terraformPlugin, { ...common, bridge });
  await server.listen({ host: "127.0.0.1", port: 0 });
  cleanup.defer(() => server.close());
  const { port } = server.server.address() as AddressInfo;
  const { token } = await credentials.createToken({ account: "acme", roles: ["admin"] });
  const call = async (method: "POST" | "DELETE" | "GET", url: string, payload?: object) => {
    const answer = await server.inject({
      method,
      url,
      headers: { "x-auth-token": token, "client-request-id": randomUUID() },
      ...(payload === undefined ? {} : { payload }),
    });
    return answer.statusCode;
  };

  const ca = join(scratch.path, "ca.pem");
  await writeFile(ca, String(identity.certificate));
  const work = join(scratch.path, "work");
  await mkdir(work);
  const env = {
    PATH: process.env.PATH ?? "",
    HOME: scratch.path,
    SSL_CERT_FILE: ca,
    TF_CLI_CONFIG_FILE: join(scratch.path, "rc"),
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    TF_INPUT: "0",
  };
  const settings = (installation: string) =>
    writeFile(
      env.TF_CLI_CONFIG_FILE,
      `credentials "localhost:${port}" {\ntoken = "${token}"\n}\n${installation}`,
    );
  const configure = (source: string, exact: string, resource: string) =>
    writeFile(
      join(work, "main.tf"),
      `terraform {
         required_providers {
           notes = {
             source  = "${source}"
             version = "${exact}"
           }
         }
       }
       ${resource}\n`,
    );
  const run = async (...args: string[]) => {
    const child = spawn("terraform", [...args, "-no-color"], { cwd: work, env });
    let output = "";
    child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const code = await new Promise<number | null>((resolve) => {
      child.once("close", resolve);
    });
    return { code, output };
  };
  const ok = async (...args: string[]) => {
    const { code, output } = await run(...args);
    expect(code, output).toBe(0);
    return output;
  };
  return { port, call, settings, configure, run, ok, folder, work, functions };
}

const note = (text: string) => `resource "notes_note" "a" {\nname = "one"\n${text}\n}`;

describe("a private provider and the unmodified command", () => {
  it("is installed from the mirror under its own address, used, and upgraded to another form", async () => {
    const { port, call, settings, configure, run, ok, folder, work } = await setUp();
    expect(
      await call("POST", "/v1/private-providers", {
        provider_name: "notes",
        provider_version: "1.0.0",
        function_graph_urn: urnOf("notes-one"),
      }),
    ).toBe(201);
    await settings(
      `provider_installation {\nnetwork_mirror {\nurl = "https://localhost:${port}/terraform/v1/mirror/"\n}\n}\n`,
    );
    const source = "huawei.com/private-provider/notes";
    await configure(source, "1.0.0", note('text = "hello"'));
    expect(await ok("init")).toContain(`Installed ${source} v1.0.0`);
    await ok("apply", "-auto-approve");
    expect(await readFile(join(folder, "one.txt"), "utf8")).toBe("hello");
    expect((await run("plan", "-detailed-exitcode")).code).toBe(0);
    expect(await readFile(join(work, ".terraform.lock.hcl"), "utf8")).toContain("h1:");

    expect(
      await call("POST", "/v1/private-providers/notes/versions", {
        provider_version: "2.0.0",
        function_graph_urn: urnOf("notes-two"),
      }),
    ).toBe(201);
    await configure(source, "2.0.0", note('text = "hello"\nmood = "fine"'));
    await ok("init", "-upgrade");
    await ok("apply", "-auto-approve");
    const state = await readFile(join(work, "terraform.tfstate"), "utf8");
    expect(state).toContain('"schema_version": 1');
    expect(state).toContain('"mood": "fine"');
    await ok("destroy", "-auto-approve");
    await expect(readFile(join(folder, "one.txt"))).rejects.toThrow("ENOENT");
  });

  it("is installed from the registry, and its lock holds for the next installation", async () => {
    const { port, call, settings, configure, ok, run, work, functions } = await setUp();
    await call("POST", "/v1/private-providers", {
      provider_name: "notes",
      provider_version: "1.0.0",
      function_graph_urn: urnOf("notes-one"),
    });
    await settings("");
    const source = `localhost:${port}/private-provider/notes`;
    await configure(source, "1.0.0", note('text = "hello"'));
    expect(await ok("init")).toContain("self-signed, key ID");
    await ok("apply", "-auto-approve");
    const lock = await readFile(join(work, ".terraform.lock.hcl"), "utf8");
    expect(lock).toContain("zh:");
    await rm(join(work, ".terraform"), { recursive: true });
    await ok("init");
    expect(await readFile(join(work, ".terraform.lock.hcl"), "utf8")).toBe(lock);

    await functions[0]?.close();
    const down = await run("plan");
    expect(down.code).toBe(1);
    expect(down.output).toContain("The function of the provider failed");
    expect(down.output).toContain("FG_UNREACHABLE");
    expect(await readFile(join(work, "terraform.tfstate"), "utf8")).toContain('"text": "hello"');
  });
});
