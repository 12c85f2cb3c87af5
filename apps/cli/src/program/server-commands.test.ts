import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BootstrapCredentials } from "@stackwright/engine";
import { serve } from "@stackwright/engine";
import { SERVE_OPTIONS } from "@stackwright/engine/options";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

async function start(store: string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "serving-"));
  const cwd = scratch.path;
  onTestFinished(() => scratch.remove());
  const server = await serve(
    { store, port: 0, storagePort: 0, logLevel: "silent", bootstrapFile: join(cwd, "first.json") },
    { directory: cwd, env: {} },
  );
  onTestFinished(() => server.close());
  const first = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as BootstrapCredentials;
  await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
  return { server, cwd, first };
}

describe("serve", () => {
  it("shows its options, and points to them where one is not known", async () => {
    const help = await tryCommand(["serve", "--help"]);
    expect(help.code).toBe(0);
    const list = await tryCommand(["serve", "--options"]);
    for (const name of ["config", ...Object.keys(SERVE_OPTIONS)]) {
      expect(help.output).toContain(`  --${name} `);
      expect(list.output).toContain(`  --${name} `);
    }
    const { code, error } = await tryCommand(["serve", "--frobnicate"]);
    expect(code).toBe(1);
    expect(error).toBe(
      "Error: Unknown option '--frobnicate'; stackwright serve --options lists all options\n",
    );
    expect((await tryCommand(["bootstrap", "--help"])).output).toContain("--account NAME");
  });

  it.each([
    [["serve", "--prot", "1"], "--port"],
    [["serve", "--no-console"], "--without-console"],
    [["serve", "--no-tls=true"], "--without-tls"],
    [["worker", "--sever", "http://localhost"], "--server"],
  ])("suggests what %j most likely meant", async (words, meant) => {
    const { code, error } = await tryCommand(words);
    expect(code).toBe(1);
    expect(error).toMatch(/^Error: Unknown option '--[a-z]+(?:-[a-z]+)?'; .+ lists all options\n/);
    expect(error.endsWith(`\n\nDid you mean "${meant}"?\n`), error).toBe(true);
  });

  it("takes options from variables, and says by which names they are given", async () => {
    const rule =
      "Each option is also given by a variable of the environment: --max-providers by STACKWRIGHT_SERVE_MAX_PROVIDERS.";
    expect((await tryCommand(["serve", "--help"])).output).toContain(rule);
    const env = { STACKWRIGHT_SERVE_STORE: "memory:", STACKWRIGHT_SERVE_PROT: "secret" };
    const { code, error } = await tryCommand(["serve"], {
      env: { ...env, STACKWRIGHT_SERVE_PORT: "secret" },
    });
    expect(code).toBe(1);
    expect(error).toBe(
      "Warning: the variable STACKWRIGHT_SERVE_PROT gives no option of the server. Did you mean STACKWRIGHT_SERVE_PORT?\nError: STACKWRIGHT_SERVE_PORT takes a number\n",
    );
    // Commands on the store of a server take its variables, too.
    const shown = await tryCommand(["admin", "retention", "show"], {
      env: { ...env, STACKWRIGHT_SERVE_RUN_DAYS: "123" },
    });
    expect([shown.code, shown.output]).toEqual([0, expect.stringContaining("123 days")]);
  });

  it.each([
    [{}, "set --server URL, STACKWRIGHT_WORKER_SERVER or STACKWRIGHT_SERVER"],
    [{ SERVER: "http://a.test,http://a.test" }, "STACKWRIGHT_WORKER_SERVER names a server twice"],
    [{ SERVER: "http://a.test,http://b.test", STORAGE: "c" }, "STACKWRIGHT_WORKER_STORAGE is for"],
    [{ SERVER: "http://a.test", TOKEN_FILE: "no" }, '/no" of STACKWRIGHT_WORKER_TOKEN_FILE cannot'],
    [{ EXECUTOR: "no" }, "STACKWRIGHT_WORKER_EXECUTOR takes child, container, kubernetes"],
    [{ TOOL: "no" }, "STACKWRIGHT_WORKER_TOOL: a tool is NAME=PATH"],
    [{ STORAGE: "no" }, "STACKWRIGHT_WORKER_STORAGE takes stackwright://HOST:PORT"],
    [{ CAPACITY: "0" }, "STACKWRIGHT_WORKER_CAPACITY takes a whole number from 1 to 1000"],
  ])(
    "a worker takes options from variables, and names the invalid one: %j",
    async (given, says) => {
      const scratch = await mkdtempDisposable(join(tmpdir(), "worker-variables-"));
      onTestFinished(() => scratch.remove());
      const common =
        "SERVER" in given || Object.keys(given).length === 0
          ? {}
          : { STACKWRIGHT_SERVER: "http://a.test", STACKWRIGHT_TOKEN: "token" };
      const own = Object.entries(given).map(([name, text]) => [`STACKWRIGHT_WORKER_${name}`, text]);
      const env = { ...common, ...(Object.fromEntries(own) as NodeJS.ProcessEnv) };
      const { code, error } = await tryCommand(["worker"], { cwd: scratch.path, env });
      expect(code).toBe(1);
      expect(error).toContain(says);
    },
  );

  it("has its embedded store for itself, and every command says what to do about that", async () => {
    const { cwd } = await start("sqlite:data");
    const advice = "or use the store through it: start it with --storage-port PORT";
    for (const words of [
      ["serve", "--store", "sqlite:data", "--port", "0"],
      ["bootstrap", "--store", "sqlite:data"],
      ["up", "--yes", "--store", "sqlite:data"],
    ]) {
      const { code, error } = await tryCommand(words, { cwd });
      expect(code).toBe(1);
      expect(error).toContain(`The store is in use: process ${process.pid} on `);
      expect(error).toContain(advice);
      expect(error).toContain("stackwright://HOST:PORT");
    }
  });
});

describe("a store behind a server", () => {
  it("says which token is missing, unknown, or not enough, and where it belongs", async () => {
    const { server, cwd, first } = await start("memory:");
    const store = server.storageAddress ?? "";
    const make = async (roles: readonly string[]) => {
      const answer = await fetch(`${server.url}/api/v1/registry/tokens`, {
        method: "POST",
        headers: { "x-auth-token": first.token, "content-type": "application/json" },
        body: JSON.stringify({ roles }),
      });
      return ((await answer.json()) as { token: string }).token;
    };
    const up = async (token: string | undefined) =>
      tryCommand(["up", "--yes", "--store", store], {
        cwd,
        env: { ...(token !== undefined && { STACKWRIGHT_TOKEN: token }) },
      });
    for (const [token, why] of [
      [undefined, "no token was given."],
      ["", "no token was given."],
      ["sw_wrong", "the token is not known."],
      [await make(["admin"]), "the token has not the role worker"],
      [await make(["worker"]), "the token has no part of the store"],
    ] as const) {
      const { code, error } = await up(token);
      expect(code).toBe(1);
      expect(error).toContain(`The store ${store} cannot be used: ${why}`);
      expect(error).toContain("STACKWRIGHT_TOKEN is the token for this server");
      expect(error).not.toMatch(/sw_|PERMISSION_DENIED/);
    }
    expect(await up(await make(["operator", "worker"]))).toMatchObject({ code: 0, error: "" });
  });
});
