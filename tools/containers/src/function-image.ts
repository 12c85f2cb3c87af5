import assert from "node:assert/strict";
import { chmod, cp, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { buildTool, discoverTools } from "@stackwright-tools/go";
import type { Docker } from "./docker.ts";

interface FunctionImageOptions {
  readonly docker: Docker;
  /** Of the repository. */
  readonly root: string;
  /** For build contexts. */
  readonly folder: string;
  /** An image that has the packages built. */
  readonly functionsImage: string;
  readonly tag: string;
  readonly signal: AbortSignal;
}

const PROVIDER = "terraform-provider-random";
const TOKEN = "trial-of-a-function";

/** Asks the function, from within its container, for the schema of its provider; writes status and length. */
const ASK = `
  const body = JSON.stringify({
    method_name: "/tfplugin5.Provider/GetSchema",
    request_data: "",
    context: { session_id: "trial", config_data: "" },
  });
  const headers = { "content-type": "application/json", ...JSON.parse(process.argv[1]) };
  const answer = await fetch("http://127.0.0.1:8000/provider", { method: "POST", body, headers });
  const { response_data = "" } = await answer.json().catch(() => ({}));
  console.log(JSON.stringify([answer.status, response_data.length]));
`;

/**
 * Builds the image of a single function around a provider that was built with Go, and calls it. Gives undefined when it
 * holds, else in a few words why it could not be tried.
 */
export async function tryFunctionImage(options: FunctionImageOptions): Promise<string | undefined> {
  const { docker, root, folder, functionsImage, tag, signal } = options;
  const tool = discoverTools().find(({ name }) => name === PROVIDER);
  if (tool === undefined) throw new Error(`there is no tool ${PROVIDER}`);
  const built = await buildTool(tool, { signal });
  if (built.status === "failed") return `${PROVIDER} could not be built: ${built.reason}`;

  // The packages are not published yet: a base image has what npm would install.
  const base = `stackwright-function-base:${tag}`;
  const image = `stackwright-function:${tag}`;
  const name = `stackwright-function-${tag}`;
  const context = join(folder, "function");
  await mkdir(context, { recursive: true });
  await writeFile(
    join(context, "Dockerfile"),
    `FROM ${functionsImage}
USER root
RUN mkdir -p /opt/function/node_modules/@stackwright \\
  && ln -s /opt/stackwright/packages/fg-bridge /opt/function/node_modules/@stackwright/fg-bridge
`,
  );
  await cp(built.path, join(context, "provider"));
  await chmod(join(context, "provider"), 0o755);
  const file = join(root, "packages/fg-bridge/container/Dockerfile");
  const build = async (...words: readonly string[]) =>
    docker.run(["build", "--network", "none", ...words, context], {
      timeoutMs: 120_000,
      signal,
      env: { ...docker.env, DOCKER_BUILDKIT: "0" },
    });
  try {
    await build("--tag", base);
    await build("--tag", image, "--file", file, "--build-arg", `NODE_IMAGE=${base}`);
    const hardened = ["--read-only", "--tmpfs", "/tmp:exec", "--cap-drop", "ALL"];
    const secret = ["--env", `STACKWRIGHT_FUNCTION_TOKEN=${TOKEN}`];
    const words = ["run", "--detach", "--name", name, "--network", "none", ...hardened, ...secret];
    await docker.run([...words, image], { signal });
    await healthy(docker, name, signal);

    const ask = async (headers: object): Promise<readonly number[]> => {
      const program = ["node", "--input-type=module", "-e", ASK, JSON.stringify(headers)];
      return JSON.parse(await docker.run(["exec", name, ...program], { signal })) as number[];
    };
    assert.deepEqual(await ask({}), [401, 0]);
    const [status, length = 0] = await ask({ authorization: `Bearer ${TOKEN}` });
    assert.equal(status, 200);
    assert.ok(length > 1000, `a schema of ${length} characters`);

    await docker.run(["stop", "--time", "20", name], { signal });
    const code = await docker.run(["inspect", "--format", "{{.State.ExitCode}}", name]);
    assert.equal(code.trim(), "0");
    return undefined;
  } catch (error) {
    const logs = await docker.try(["logs", "--tail", "30", name]);
    throw new Error(`${(error as Error).message}\n${logs.stdout}${logs.stderr}`, { cause: error });
  } finally {
    await docker.try(["rm", "--force", "--volumes", name]);
    await docker.try(["rmi", "--force", image, base]);
  }
}

async function healthy(docker: Docker, name: string, signal: AbortSignal): Promise<void> {
  for (let tries = 0; tries < 120; tries += 1) {
    const health = await docker.run(["inspect", "--format", "{{.State.Health.Status}}", name]);
    if (health.trim() === "healthy") return;
    await delay(500, undefined, { signal });
  }
  throw new Error(`${name} did not become healthy`);
}
