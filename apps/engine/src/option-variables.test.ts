import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stackEnvironment } from "@stackwright/tfplugin/launch";
import { describe, expect, it } from "vitest";
import { inheritedBy } from "./executor/executor-child.ts";
import { INHERITED, INHERITED_PATHS } from "./executor/executor-process.ts";
import { listOf, SERVE_VARIABLES, variableOf, WORKER_VARIABLES } from "./option-variables.ts";
import { parseServeArguments, serveVariableWarnings } from "./serve-arguments.ts";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import { resolveServerOptions } from "./server-options.ts";
import { WORKER_FLAGS, type WorkerFlag } from "./worker-arguments.ts";
import { parseWorkerArguments, workerNumber } from "./worker-options.ts";

const serveVariable = (name: string): string => variableOf(SERVE_VARIABLES, name);
const workerVariable = (name: string): string => variableOf(WORKER_VARIABLES, name);

/** Valid values of the options that have a form of their own; others are made of their kind. */
const FORMS: Readonly<Record<string, readonly string[]>> = {
  store: ["memory:", "sqlite:data"],
  region: ["eu-1", "eu-2"],
  executor: ["container", "none"],
  "upstream-host": ["a.test=https://b.test", "c.test"],
  "upstream-namespace": ["one=a.test", "two=b.test/three"],
  "provisioner-project": ["acme/shop", "acme/web"],
  "delete-provider": ["cascade", "refuse"],
  "delete-used": ["allow", "refuse"],
  "log-level": ["debug", "silent"],
  "run-memory-mib": ["512", "1024"],
  "container-cpu-percent": ["150", "200"],
};

/** Two valid values of an option. */
function valuesOf(name: string): readonly [string, string] {
  const [one, other] = FORMS[name] ?? [];
  if (one !== undefined && other !== undefined) return [one, other];
  const { kind } = SERVE_OPTIONS[name] ?? { kind: "text" };
  if (kind === "number") return ["7", "9"];
  if (kind === "boolean") return ["true", "false"];
  return kind === "words" ? ["one --word", "other"] : ["one", "other"];
}

/** What an option of the command is given as, such as `--port 7`. */
function flagsOf(name: string, value: string): string[] {
  const { kind } = SERVE_OPTIONS[name] ?? {};
  if (kind === "boolean") return value === "true" ? [`--${name}`] : [];
  return [`--${name}`, value];
}

/** Options without which the one is refused. */
const BESIDE: Readonly<Record<string, readonly string[]>> = {
  "tls-certificate": ["--tls-key", "key.pem"],
  "tls-key": ["--tls-certificate", "certificate.pem"],
  "rate-burst": ["--rate-per-second", "3"],
};

/** The value in a file of options. */
function inFile(name: string, value: string): unknown {
  const { kind } = SERVE_OPTIONS[name] ?? {};
  if (kind === "number") return Number(value);
  if (kind === "boolean") return value === "true";
  if (kind === "words") return value.split(" ");
  return kind === "list" ? [value] : value;
}

/** An object with one option, at its place in a file. */
function fileOf(name: string, value: string): object {
  const { path } = SERVE_OPTIONS[name] ?? { path: [] };
  return path.reduceRight<unknown>(
    (inner, part) => ({ [part]: inner }),
    inFile(name, value),
  ) as object;
}

describe("variables of the server", () => {
  it.each(Object.keys(SERVE_OPTIONS))(
    "--%s, its variable and its name in a file give the same, and win in this order",
    async (name) => {
      await using scratch = await mkdtempDisposable(join(tmpdir(), "variables-"));
      const directory = scratch.path;
      const base = name === "store" ? [] : ["--store", "memory:"];
      const resolved = async (
        args: readonly string[],
        env: NodeJS.ProcessEnv = {},
        file: object = {},
      ) => {
        await writeFile(join(directory, "server.json"), JSON.stringify(file));
        const words = [...base, ...(BESIDE[name] ?? []), ...args, "--config", "server.json"];
        const options = await parseServeArguments(words, env, directory);
        // A file of a key is relative to the file of options that names it, and to the folder of the command otherwise.
        const { keyFile, formerKeyFile, ...others } = resolveServerOptions(options);
        const placed = [keyFile, formerKeyFile].map(
          (path) => path && join(directory, path.replace(directory, "")),
        );
        return { ...others, placed };
      };
      const [one, other] = valuesOf(name);
      const [variable, flags] = [serveVariable(name), flagsOf(name, one)];
      const expected = await resolved(flags);
      expect(await resolved([], { [variable]: one })).toEqual(expected);
      expect(await resolved([], {}, fileOf(name, one))).toEqual(expected);
      expect(await resolved(flags, { [variable]: other }, fileOf(name, other))).toEqual(expected);
      expect(await resolved([], { [variable]: one }, fileOf(name, other))).toEqual(expected);
      // As if it were not set.
      expect(await resolved([], { [variable]: "" }, fileOf(name, one))).toEqual(expected);
      expect(expected).not.toEqual(await resolved([], {}, fileOf(name, other)));
    },
  );

  it("name the file of options, which --config wins over", async () => {
    await using scratch = await mkdtempDisposable(join(tmpdir(), "variables-"));
    const directory = scratch.path;
    await writeFile(join(directory, "one.json"), JSON.stringify({ port: 1 }));
    await writeFile(join(directory, "other.json"), JSON.stringify({ port: 2 }));
    const env = { STACKWRIGHT_SERVE_CONFIG: "one.json" };
    expect(await parseServeArguments([], env, directory)).toEqual({ port: 1 });
    const args = ["--config", "other.json"];
    expect(await parseServeArguments(args, env, directory)).toEqual({ port: 2 });
    await expect(
      parseServeArguments([], { STACKWRIGHT_SERVE_CONFIG: "none.json" }, directory),
    ).rejects.toThrow(/none\.json" of STACKWRIGHT_SERVE_CONFIG cannot be read$/);
  });

  it("win over those of all commands", async () => {
    const env = {
      STACKWRIGHT_STORE: "sqlite:common",
      STACKWRIGHT_SERVE_STORE: "memory:",
      STACKWRIGHT_FUNCTIONS: "common.json",
      STACKWRIGHT_SERVE_FUNCTIONS: "own.json",
    };
    expect(await parseServeArguments([], env, ".")).toEqual({
      store: "memory:",
      functionsFile: "own.json",
    });
  });

  it("separate the values of a list by commas, or by lines where there are several", async () => {
    expect(listOf("a.test, b.test,")).toEqual(["a.test", "b.test"]);
    expect(listOf("/a:/b:ro,z\n /c:/d \n")).toEqual(["/a:/b:ro,z", "/c:/d"]);
    const env = {
      STACKWRIGHT_SERVE_MIRROR_HOST: "a.test,b.test",
      STACKWRIGHT_SERVE_CONTAINER_VOLUME: "/a:/b:ro,z\n",
    };
    expect(await parseServeArguments([], env, ".")).toEqual({
      mirrorHosts: ["a.test", "b.test"],
      container: { volumes: ["/a:/b:ro,z"] },
    });
    // Those of the command replace them, as they replace those of a file.
    const options = await parseServeArguments(["--mirror-host", "c.test"], env, ".");
    expect(options.mirrorHosts).toEqual(["c.test"]);
  });

  it.each([
    ["1", true],
    ["true", true],
    ["0", false],
    ["false", false],
  ])("that switch an option take %s", async (text, value) => {
    const env = { STACKWRIGHT_SERVE_TOMBSTONES: text };
    expect(await parseServeArguments([], env, ".")).toEqual({ tombstones: value });
  });

  it.each([
    ["TOMBSTONES", "yes", "STACKWRIGHT_SERVE_TOMBSTONES takes true, false, 1 or 0"],
    ["PORT", "tcp://10.0.0.1:7400", "STACKWRIGHT_SERVE_PORT takes a number"],
    ["PORT", " ", "STACKWRIGHT_SERVE_PORT takes a number"],
    ["PORT", "70000", "the server cannot start: STACKWRIGHT_SERVE_PORT must be <= 65535"],
    [
      "DELETE_USED",
      "no",
      "the server cannot start: STACKWRIGHT_SERVE_DELETE_USED takes allow, warn, refuse",
    ],
    [
      "REGION",
      "secret!",
      /^the server cannot start: STACKWRIGHT_SERVE_REGION must match pattern [^!]+$/,
    ],
    [
      "PROVISIONER_PROJECT",
      "a/b,secret",
      /^the server cannot start: STACKWRIGHT_SERVE_PROVISIONER_PROJECT must match pattern [^!]+$/,
    ],
  ])("are named where %s=%s is invalid, without the value", async (name, text, message) => {
    const env = { STACKWRIGHT_STORE: "memory:", [`STACKWRIGHT_SERVE_${name}`]: text };
    const parsed = parseServeArguments([], env, ".");
    await expect(parsed).rejects.toMatchObject({ code: "ENGINE_CONFIG_INVALID" });
    await expect(parsed).rejects.toThrow(message);
  });

  it("are warned of where a name is near to another one, and say no value", () => {
    const env = {
      STACKWRIGHT_SERVE_PROT: "secret",
      STACKWRIGHT_SERVE_MIRROR_HOSTS: "secret",
      STACKWRIGHT_SERVE_NO_CONSOLE: "1",
      STACKWRIGHT_SERVE_store: "secret",
      // Right, of another program, and of other commands.
      STACKWRIGHT_SERVE_PORT: "7400",
      STACKWRIGHT_SERVE_SERVICE_HOST: "10.0.0.1",
      STACKWRIGHT_SERVER: "http://localhost:7400",
      STACKWRIGHT_TOKEN: "secret",
    };
    expect(serveVariableWarnings(env)).toEqual([
      "the variable STACKWRIGHT_SERVE_MIRROR_HOSTS gives no option of the server. Did you mean STACKWRIGHT_SERVE_MIRROR_HOST?",
      "the variable STACKWRIGHT_SERVE_NO_CONSOLE gives no option of the server. Did you mean STACKWRIGHT_SERVE_WITHOUT_CONSOLE?",
      "the variable STACKWRIGHT_SERVE_PROT gives no option of the server. Did you mean STACKWRIGHT_SERVE_PORT?",
      "the variable STACKWRIGHT_SERVE_store gives no option of the server. Did you mean STACKWRIGHT_SERVE_STORE?",
    ]);
  });
});

describe("variables of a worker", () => {
  it.each(Object.keys(WORKER_FLAGS) as WorkerFlag[])("--%s wins over its variable", (name) => {
    const [variable, args] = [workerVariable(name), [`--${name}`, "500"]];
    expect(parseWorkerArguments(args, {}).values).toEqual({ [name]: "500" });
    expect(parseWorkerArguments([], { [variable]: "500" }).values).toEqual({ [name]: "500" });
    expect(parseWorkerArguments(args, { [variable]: "600" }).values).toEqual({ [name]: "500" });
    expect(parseWorkerArguments([], { [variable]: "" }).values).toEqual({});
  });

  it("are named where a value is invalid, and the option is where it gave the value", () => {
    const env = { STACKWRIGHT_WORKER_CAPACITY: "many" };
    expect(() => workerNumber(parseWorkerArguments([], env), "capacity")).toThrow(
      "STACKWRIGHT_WORKER_CAPACITY takes a whole number from 1 to 1000",
    );
    expect(() => workerNumber(parseWorkerArguments(["--capacity", "0"], env), "capacity")).toThrow(
      "--capacity takes a whole number from 1 to 1000",
    );
  });
});

it("no variable of the server or a worker reaches an executor or what it starts", () => {
  const names = [
    serveVariable("config"),
    ...Object.keys(SERVE_OPTIONS).map(serveVariable),
    ...Object.keys(WORKER_FLAGS).map(workerVariable),
  ];
  expect(names.length).toBeGreaterThan(100);
  const env = Object.fromEntries(names.map((name) => [name, "secret"]));
  expect(inheritedBy(env)).toEqual({});
  // Providers and hooks of an executor that is in the process of the server.
  expect(stackEnvironment({ variables: {}, own: env })).toEqual({});
  // Containers and pods.
  expect(names.filter((name) => INHERITED.test(name) || INHERITED_PATHS.test(name))).toEqual([]);
});
