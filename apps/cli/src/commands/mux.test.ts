import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { TEST_PROGRAMS } from "@stackwright/core/testing";
import { type EngineHost, startEngineHost } from "@stackwright/mux/host";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

/* The stubs and values of Pulumi's own SDK, which the mux package has for its tests. */
const fromMux = createRequire(new URL("../../../../packages/mux/package.json", import.meta.url));
/** What the SDK depends on is its own, and not to be found from anywhere else. */
const fromSdk = createRequire(fromMux.resolve("@pulumi/pulumi/package.json"));
const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));

const SOURCE = "example.com/acme/platform";
const CHATTY = { source: "stackwright.local/pulumi/chatty", version: "~> 1.0" };
const TERRAFORM = { source: "terraform.io/builtin/terraform" };
const SHELF = { source: "stackwright.local/pulumi/shelf" };
const GONE = { source: "stackwright.local/pulumi/gone" };

interface Entry {
  readonly programs: readonly object[];
  readonly [member: string]: unknown;
}

/** A folder with the file of joined providers, and a home of Pulumi with two plug-ins. */
async function setUp(entry: Entry) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "mux-"));
  const plugins = join(scratch.path, "home", "plugins");
  const install = async (name: string, version: string, program: string, words = "") => {
    const folder = join(plugins, `resource-${name}-v${version}`);
    await mkdir(folder, { recursive: true });
    const file = join(folder, `pulumi-resource-${name}`);
    await writeFile(
      file,
      `#!/bin/sh\necho $$ > "${scratch.path}/${name}.pid"\n${words} exec "${process.execPath}" "${program}" "$@"\n`,
    );
    await chmod(file, 0o755);
  };
  await install("chatty", "1.2.0", TEST_PROGRAMS.chattyProvider, "CHATTY_VERSION=1.2.0");
  await install("shelf", "1.0.0", TEST_PROGRAMS.shelfProvider);
  const cwd = join(scratch.path, "work");
  await mkdir(cwd);
  const write = async (changed: Entry) =>
    writeFile(
      join(cwd, "stackwright.providers.json"),
      JSON.stringify({ providers: { [SOURCE]: changed } }),
    );
  await write(entry);
  const env = {
    PATH: process.env.PATH,
    HOME: scratch.path,
    PULUMI_HOME: join(scratch.path, "home"),
  };
  const run = async (...words: readonly string[]) => tryCommand(["mux", ...words], { cwd, env });
  /** The process of a plug-in that was started last. */
  const pidOf = async (name: string) =>
    Number(await readFile(join(scratch.path, `${name}.pid`), "utf8"));
  return { cwd, env, install, pidOf, run, write, [Symbol.asyncDispose]: () => scratch.remove() };
}

/** `mux serve` as an engine starts it, with a client of Pulumi's SDK. */
async function serve({ cwd, env }: { cwd: string; env: NodeJS.ProcessEnv }, engine?: EngineHost) {
  const child = spawn(
    process.execPath,
    [COMMAND, "mux", "serve", "--", "--logtostderr", "-v=1", ...(engine ? [engine.address] : [])],
    { cwd, env, stdio: ["ignore", "pipe", "pipe"] },
  );
  const ended = once(child, "close");
  // A test that fails half way leaves no server behind.
  onTestFinished(() => void child.kill("SIGKILL"));
  const written = { output: "", error: "" };
  child.stdout.on("data", (chunk: Buffer) => {
    written.output += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    written.error += chunk.toString();
  });
  await vi.waitFor(
    () => {
      expect(written.output + written.error).toMatch(/^\d+\n/);
    },
    { timeout: 40_000, interval: 50 },
  );
  const grpc = fromMux("@grpc/grpc-js");
  const { ResourceProviderClient } = fromMux("@pulumi/pulumi/proto/provider_grpc_pb.js");
  const messages = fromMux("@pulumi/pulumi/proto/provider_pb.js");
  const { Struct } = fromSdk("google-protobuf/google/protobuf/struct_pb.js");
  const client = new ResourceProviderClient(
    `127.0.0.1:${written.output.trim()}`,
    grpc.credentials.createInsecure(),
  );
  /** Calls a method with a message of the SDK, whose fields are set by their names. */
  const call = async (method: string, message: string, fields: Record<string, unknown> = {}) => {
    const request = new messages[message]();
    for (const [name, value] of Object.entries(fields)) {
      const isProperties = typeof value === "object" && value !== null;
      request[`set${name}`](isProperties ? Struct.fromJavaScript(value) : value);
    }
    return new Promise<Reply>((resolve, reject) => {
      client[method](request, { deadline: Date.now() + 20_000 }, (error: unknown, reply: Reply) => {
        if (error instanceof Error) reject(error);
        else resolve(reply);
      });
    });
  };
  return {
    child,
    ended,
    written,
    call,
    [Symbol.asyncDispose]: async () => {
      client.close();
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGKILL");
      await ended;
    },
  };
}

/** A message of the SDK as far as it is read here. */
interface Reply {
  getSchema(): string;
  getVersion(): string;
  getId(): string;
  getProperties(): { toJavaScript(): Record<string, unknown> };
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

const urn = (type: string) => `urn:pulumi:dev::shop::${type}::it`;

describe("mux explain", { timeout: 60_000 }, () => {
  it("says which program serves each token, and which are there", async () => {
    await using tried = await setUp({
      programs: [CHATTY, TERRAFORM, GONE],
      package: { name: "platform", version: "1.0.0" },
    });
    const { code, output } = await tried.run("explain");
    expect(code, output).toBe(0);
    expect(output).toContain(`${SOURCE} as package platform 1.0.0`);
    expect(output).toContain("program gone (stackwright.local/pulumi/gone): absent");
    expect(output).toContain("resource chatty:index:chatty_note: chatty, ");
    expect(output).toContain(
      "resource platform:index:terraform_data: terraform, no other one defines it\n",
    );
    const one = await tried.run("explain", "--json", "platform:index:terraform_remote_state");
    expect(JSON.parse(one.output)).toMatchObject({
      tokens: [{ kind: "function", program: "terraform" }],
    });
    const none = await tried.run("explain", "chatty:index:sculpture");
    expect(none).toMatchObject({ code: 1 });
    expect(none.error).toContain("No program serves chatty:index:sculpture.");
    for (const near of ["terraform_data", "platform:index:terraform_dat"]) {
      const { error } = await tried.run("explain", near);
      expect(error).toContain(`${near}. Did you mean "platform:index:terraform_data"?`);
    }
  });

  it("refuses a folder without the file, and a name that no provider of it has", async () => {
    await using tried = await setUp({ programs: [TERRAFORM] });
    const wrong = await tried.run("explain", "--provider", "house");
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain(SOURCE);
    await tried.write({ programs: [{ ...TERRAFORM, deadlines: { creat: 1 } }] });
    expect((await tried.run("explain")).error).toContain("creat");
  });
});

describe("mux check", { timeout: 60_000 }, () => {
  it("exits with 0 where all is well, and with 1 for a missing program", async () => {
    await using tried = await setUp({ programs: [CHATTY, TERRAFORM] });
    const sound = await tried.run("check");
    expect(sound, sound.error).toMatchObject({ code: 0 });
    await tried.write({ programs: [TERRAFORM, GONE] });
    const missing = await tried.run("check");
    expect(missing.code).toBe(1);
    expect(missing.error).toContain("the program gone is absent");
  });

  it("exits with 1 for a name of two programs, until the file says who has it", async () => {
    await using tried = await setUp({ programs: [SHELF, { ...SHELF, name: "attic" }] });
    const token = "shelf:index:shelf_book";
    const refused = await tried.run("check", "--json");
    expect(refused.code).toBe(1);
    expect(JSON.parse(refused.output).problems.join()).toContain(
      `${token} is defined by shelf, attic`,
    );
    const owners = { shelf_shelf_book: "attic" };
    await tried.write({ programs: [SHELF, { ...SHELF, name: "attic" }], owners });
    const settled = await tried.run("check");
    expect(settled, settled.error).toMatchObject({ code: 0 });
    expect((await tried.run("explain", token)).output).toContain(`resource ${token}: attic, `);
  });

  it.each([
    ["writes garbage in place of a port", "#!/bin/sh\necho hello; sleep 60\n"],
    ["ends at once", "#!/bin/sh\nexit 3\n"],
  ])("names a program that %s", async (_what, script) => {
    await using tried = await setUp({ programs: [TERRAFORM, GONE] });
    const folder = join(tried.env.PULUMI_HOME, "plugins", "resource-gone-v1.0.0");
    await mkdir(folder);
    await writeFile(join(folder, "pulumi-resource-gone"), script, { mode: 0o755 });
    const { code, error } = await tried.run("check");
    expect(code).toBe(1);
    expect(error).toContain("the program gone is absent");
  });
});

describe("mux serve", { timeout: 90_000 }, () => {
  it("is one provider for a client of Pulumi's SDK, and survives the loss of a program", async () => {
    await using tried = await setUp({
      programs: [CHATTY, TERRAFORM],
      package: { name: "platform", version: "1.4.0" },
    });
    const logged: string[] = [];
    await using engine = await startEngineHost({ onLog: ({ message }) => logged.push(message) });
    await using served = await serve(tried, engine);
    expect(served.written.output).toMatch(/^\d+\n$/);
    const { call } = served;
    const schema = JSON.parse((await call("getSchema", "GetSchemaRequest")).getSchema());
    expect(schema).toMatchObject({
      name: "platform",
      version: "1.4.0",
      allowedPackageNames: ["chatty"],
    });
    expect(Object.keys(schema.resources)).toEqual([
      "chatty:index:chatty_note",
      "platform:index:terraform_data",
    ]);
    await call("configure", "ConfigureRequest", { Args: {} });
    const created = await call("create", "CreateRequest", {
      Urn: urn("platform:index:terraform_data"),
      Properties: { input: "x" },
    });
    expect(created.getProperties().toJavaScript()).toMatchObject({ output: "x" });
    const note = {
      Urn: urn("chatty:index:chatty_note"),
      Properties: { text: "hello" },
    };
    const made = await call("create", "CreateRequest", note);
    expect(made.getProperties().toJavaScript()).toMatchObject({ made_by: "1.2.0" });
    await vi.waitFor(() => {
      expect(logged).toContain("makes hello");
    });
    await expect(
      call("create", "CreateRequest", { Urn: urn("chatty:index:none"), Properties: {} }),
    ).rejects.toMatchObject({ code: 5 });
    const first = await tried.pidOf("chatty");
    process.kill(first, "SIGKILL");
    await vi.waitFor(
      async () => {
        expect(await tried.pidOf("chatty")).not.toBe(first);
      },
      { timeout: 20_000, interval: 50 },
    );
    const again = await call("create", "CreateRequest", note);
    expect(again.getProperties().toJavaScript()).toMatchObject({ text: "hello" });
    served.child.kill("SIGTERM");
    expect(await served.ended).toEqual([0, null]);
  });

  it("starts without a program that is absent, where the file says so, and ends its programs when it is killed", async () => {
    await using tried = await setUp({
      programs: [CHATTY, GONE],
      package: { degradedStart: true },
    });
    await using served = await serve(tried);
    const { call } = served;
    await expect(
      call("create", "CreateRequest", { Urn: urn("gone:index:thing"), Properties: {} }),
    ).rejects.toMatchObject({ code: 14 });
    await vi.waitFor(() => {
      expect(served.written.error).toContain('The program "gone"');
    });
    await tried.install("gone", "1.0.0", TEST_PROGRAMS.shelfProvider);
    await vi.waitFor(
      async () => {
        const schema = JSON.parse((await call("getSchema", "GetSchemaRequest")).getSchema());
        expect(Object.keys(schema.resources)).toContain("shelf:index:shelf_book");
      },
      { timeout: 30_000, interval: 200 },
    );
    const pids = await Promise.all(["chatty", "gone"].map(tried.pidOf));
    served.child.kill("SIGKILL");
    await vi.waitFor(
      () => {
        expect(pids.filter(isRunning)).toEqual([]);
      },
      { timeout: 10_000, interval: 50 },
    );
  });

  it("gives up a call at the deadline of its method, and refuses an engine that is not there", async () => {
    await using tried = await setUp({ programs: [{ ...CHATTY, deadlines: { create: 0.5 } }] });
    await using served = await serve(tried);
    process.kill(await tried.pidOf("chatty"), "SIGSTOP");
    await expect(
      served.call("create", "CreateRequest", {
        Urn: urn("chatty:index:chatty_note"),
        Properties: { text: "late" },
      }),
    ).rejects.toMatchObject({ code: 4 });
    process.kill(await tried.pidOf("chatty"), "SIGCONT");
    const refused = await tried.run("serve", "--", "127.0.0.1:1");
    expect(refused).toMatchObject({ code: 1, output: "" });
    expect(refused.error).toContain("mux serve -- HOST:PORT");
  });
});
