import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdtempDisposable, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { encodeRequest } from "../envelope/request.ts";
import { parseResponse } from "../envelope/response.ts";
import { FunctionHandler } from "./function-handler.ts";
import type { FunctionOptions } from "./function-options.ts";
import { createProcessRunner, type ProcessRunnerOptions } from "./process-runner.ts";

/** One file, so that each of the many starts is quick. */
let PROGRAM = "";
let programs: Awaited<ReturnType<typeof mkdtempDisposable>> | undefined;
beforeAll(async () => {
  programs = await mkdtempDisposable(join(tmpdir(), "odd-program-"));
  PROGRAM = join(programs.path, "terraform-provider-odd");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("../testing/programs/odd-provider.ts", import.meta.url))],
    bundle: true,
    platform: "node",
    format: "cjs",
    write: false,
    banner: { js: "#!/usr/bin/env node" },
  });
  await writeFile(PROGRAM, outputFiles[0]?.contents ?? "", { mode: 0o755 });
});
afterAll(async () => {
  await programs?.remove();
});

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

async function setUp(
  mode = "",
  runnerOptions: Partial<ProcessRunnerOptions> = {},
  options: Partial<FunctionOptions> = {},
) {
  const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "odd-")));
  const runner = await createProcessRunner({
    command: PROGRAM,
    temporaryDirectory: scratch.path,
    env: { MODE: mode, GIVEN: "given-to-the-provider" },
    ...runnerOptions,
  });
  const handler = cleanup.use(new FunctionHandler({ runner, ...options }));
  const ask = async (name: string, configData = "") => {
    const body = encodeRequest({
      methodName: `/tfplugin5.Provider/${name}`,
      requestData: Buffer.from("request"),
      sessionId: "s",
      configData: Buffer.from(configData),
      extensions: { accept: [] },
    });
    return parseResponse((await handler.handle(body)).body);
  };
  return { handler, ask, scratch: scratch.path };
}

/** Whether a process runs; one that ended and has nobody who asks for its code does not. */
function runs(pid: number): boolean {
  if (!isThere(pid)) return false;
  const state = `/proc/${pid}/cmdline`;
  return !existsSync(state) || readFileSync(state, "utf8") !== "";
}

interface Seen {
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
  /** Of what the provider started itself. */
  readonly child?: number;
  readonly cwd: string;
  readonly configured: string;
}
const seenIn = (bytes: Uint8Array) => JSON.parse(Buffer.from(bytes).toString()) as Seen;
const isThere = (pid: number) => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe("a provider process of the function side", () => {
  it("sees a clean environment, and folders of its own that go with it", async () => {
    Object.assign(process.env, {
      CLOUD_SECRET_KEY: "leaked",
      RUNTIME_TOKEN: "leaked",
      AWS_ACCESS_KEY_ID: "leaked",
    });
    cleanup.defer(() => {
      for (const name of ["CLOUD_SECRET_KEY", "RUNTIME_TOKEN", "AWS_ACCESS_KEY_ID"]) {
        delete process.env[name];
      }
    });
    const { ask, scratch, handler } = await setUp();
    const answer = await ask("ReadResource", "cfg");
    expect(answer.error).toBe("");
    const { env, pid, cwd, configured } = seenIn(answer.responseData);
    expect(configured).toBe("cfg");
    expect(JSON.stringify(env)).not.toContain("leaked");
    const names = Object.keys(env).filter(
      (name) => !/^(PLUGIN_|TF_PLUGIN_|[a-z_]*proxy$|NODE_)/i.test(name),
    );
    expect(
      new Set(names).difference(
        new Set([
          "GIVEN",
          "HOME",
          "MODE",
          "PATH",
          "TMPDIR",
          "SSL_CERT_FILE",
          "SSL_CERT_DIR",
          "REQUESTS_CA_BUNDLE",
          "CURL_CA_BUNDLE",
          "PWD",
          "SHLVL",
          "_",
          "OLDPWD",
        ]),
      ),
    ).toEqual(new Set());
    expect(env.PLUGIN_PROTOCOL_VERSIONS).toBe("5");
    expect(cwd.startsWith(scratch)).toBe(true);
    expect(env.HOME?.startsWith(scratch)).toBe(true);
    await handler.close();
    expect(isThere(pid)).toBe(false);
    expect(await readdir(scratch)).toEqual([]);
  });

  it("is another one for every request", async () => {
    const { ask } = await setUp();
    const answers = await Promise.all([1, 2, 3].map(() => ask("ReadResource", "cfg")));
    const seen = answers.map(({ responseData }) => seenIn(responseData));
    expect(new Set(seen.map(({ pid }) => pid)).size).toBe(3);
    expect(new Set(seen.map(({ cwd }) => cwd)).size).toBe(3);
  });

  it("takes what it started with it", async () => {
    const { ask, handler } = await setUp("child");
    const { child = 0 } = seenIn((await ask("ReadResource")).responseData);
    expect(runs(child)).toBe(true);
    await handler.close();
    await vi.waitFor(() => expect(runs(child)).toBe(false));
  });

  it.each([
    ["exit-at-start", "not-applied", /code = Unavailable .*ended with code 3/s],
    ["protocol-6", "not-applied", /code = FailedPrecondition .*speaks version 6/s],
    ["exit-in-Configure", "not-applied", /code = \w+ .*code 4/s],
    ["exit-in-ApplyResourceChange", "unknown", /code = \w+ .*code 4/s],
  ] as const)("is explained when it does %s", async (mode, outcome, text) => {
    const { ask, handler, scratch } = await setUp(mode);
    const answer = await ask("ApplyResourceChange", "the configured secret");
    expect(answer.error).toMatch(text);
    expect(answer.outcome).toBe(outcome);
    expect(answer.error).not.toContain("configured secret");
    await handler.close();
    expect(await readdir(scratch)).toEqual([]);
  });

  it("is given up when it does not answer, at its start or later", async () => {
    const silent = await setUp("silent", { startTimeoutMs: 300 });
    expect(await silent.ask("ApplyResourceChange")).toMatchObject({ outcome: "not-applied" });
    const hanging = await setUp(
      "hang-in-ApplyResourceChange",
      {},
      { timeoutMs: 4000, marginMs: 0 },
    );
    const answer = await hanging.ask("ApplyResourceChange");
    expect(answer.error).toContain("code = DeadlineExceeded");
    expect(answer.outcome).toBe("unknown");
    for (const { handler, scratch } of [silent, hanging]) {
      await handler.close();
      expect(await readdir(scratch)).toEqual([]);
    }
  });

  it("may write as much as it wants", async () => {
    const { ask } = await setUp("noise");
    expect((await ask("ReadResource", "cfg")).error).toBe("");
  });

  it("is only the program that was meant", async () => {
    const sha256 = createHash("sha256")
      .update(await readFile(PROGRAM))
      .digest("hex");
    await createProcessRunner({ command: PROGRAM, sha256 });
    for (const options of [
      { command: PROGRAM, sha256: "0".repeat(64) },
      { command: "/does/not/exist", sha256 },
    ]) {
      await expect(createProcessRunner(options)).rejects.toMatchObject({
        code: "FG_PROVIDER_START_FAILED",
        retryable: false,
      });
    }
  });
});

describe("the ready command", () => {
  const MAIN = fileURLToPath(new URL("./main.ts", import.meta.url));

  it("serves a provider until it is asked to stop", async () => {
    const scratch = cleanup.use(await mkdtempDisposable(join(tmpdir(), "command-")));
    const journal = join(scratch.path, "journal");
    const args = ["--provider", PROGRAM, "--listen", "127.0.0.1:0", "--journal", journal];
    const child = spawn(process.execPath, [MAIN, ...args], {
      env: { PATH: process.env.PATH ?? "", STACKWRIGHT_FUNCTION_TOKEN: "t0ken" },
      stdio: ["ignore", "pipe", "inherit"],
    });
    const line = await new Promise<string>((resolve) => {
      child.stdout.once("data", (chunk: Buffer) => resolve(chunk.toString()));
    });
    const { listening } = JSON.parse(line) as { listening: string };
    expect((await stat(journal)).isDirectory()).toBe(true);
    const body = Buffer.from(
      encodeRequest({
        methodName: "/tfplugin5.Provider/ReadResource",
        requestData: new Uint8Array(),
        sessionId: "s",
        configData: new Uint8Array(),
        extensions: { accept: [] },
      }),
    );
    const post = (headers: Record<string, string>) =>
      fetch(`${listening}/provider`, { method: "POST", body, headers });
    expect((await post({})).status).toBe(401);
    const response = await post({ authorization: "Bearer t0ken" });
    const { responseData, adapter } = parseResponse(new Uint8Array(await response.arrayBuffer()));
    expect(seenIn(responseData).env).not.toHaveProperty("STACKWRIGHT_FUNCTION_TOKEN");
    expect(adapter?.features).toContain("journal");
    child.kill("SIGTERM");
    const code = await new Promise((resolve) => {
      child.once("exit", resolve);
    });
    expect(code).toBe(0);
  });

  it.each([[[]], [["--provider", "x", "--listen", "nowhere"]], [["--unknown"]]])(
    "explains itself for %j",
    async (args) => {
      const child = spawn(process.execPath, [MAIN, ...args], {
        stdio: ["ignore", "ignore", "pipe"],
      });
      let text = "";
      child.stderr.on("data", (chunk: Buffer) => (text += chunk.toString()));
      const code = await new Promise((resolve) => {
        child.once("close", resolve);
      });
      expect(code).toBe(2);
      expect(text).toContain("Usage: stackwright-function");
    },
  );
});
