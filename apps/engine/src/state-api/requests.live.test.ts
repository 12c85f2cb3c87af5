import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, request } from "node:http";
import type { AddressInfo } from "node:net";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { startApi } from "../testing/start-api.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

// The `http` backend of the real commands request by request, and where requests fail.

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const TOFU = process.env["TEST_TOOL_OPENTOFU"] ?? "tofu";

const RESOURCES = (input: string): string => `
resource "terraform_data" "a" { input = ${input} }
output "a" { value = terraform_data.a.output }
`;
const config = (input: string): string =>
  `terraform {\n  backend "http" {}\n}\n${RESOURCES(input)}`;

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly body: string;
  readonly headers: IncomingHttpHeaders;
}

interface State {
  readonly resources: object[];
  readonly outputs: object;
}

/** A proxy that keeps what it forwards, and answers by itself where `fault` gives a status. */
async function startWitness(target: string) {
  const seen: Seen[] = [];
  const faults: { of: (request: Seen) => number | undefined } = { of: () => undefined };
  const proxy = createServer((incoming, outgoing) => {
    const chunks: Buffer[] = [];
    incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
    incoming.on("end", () => {
      const { method = "", url = "", headers } = incoming;
      const body = Buffer.concat(chunks);
      const one = { method, url, body: String(body), headers };
      seen.push(one);
      const status = faults.of(one);
      if (status !== undefined) {
        outgoing.writeHead(status).end();
        return;
      }
      const sent = request(new URL(url, target), { method, headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(outgoing);
      });
      sent.once("error", () => outgoing.destroy());
      sent.end(body);
    });
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  /** The methods since the last call. */
  const taken = (): string => {
    const methods = seen.map(({ method }) => method).join(" ");
    seen.length = 0;
    return methods;
  };
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  return { url, seen, taken, faults };
}

async function start() {
  const api = await startApi("none");
  const witness = await startWitness(api.server.url);
  const address = `${witness.url}/state/v1/default/web/shop`;
  const rootAt = async (given: Readonly<Record<string, string>> = {}) =>
    terraformRoot(COMMAND, {
      TF_HTTP_ADDRESS: address,
      TF_HTTP_LOCK_ADDRESS: address,
      TF_HTTP_UNLOCK_ADDRESS: address,
      TF_HTTP_USERNAME: "ci",
      TF_HTTP_PASSWORD: api.first.token,
      TF_HTTP_RETRY_WAIT_MIN: "1",
      TF_HTTP_RETRY_WAIT_MAX: "1",
      ...given,
    });
  const root = await rootAt();
  await root.write(config('"one"'));
  await root.ok("init");
  const versions = async () => {
    const path = "/api/v1/projects/web/stacks/shop/state-versions";
    const { json } = await api.call("GET", path);
    return json["state_versions"] as readonly { serial: string; lineage: string; md5: string }[];
  };
  /** As another command. */
  const send = async (method: string, path: string, body?: object) =>
    fetch(`${api.server.url}/state/v1/default/web/shop${path}`, {
      method,
      headers: { authorization: `Bearer ${api.first.token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  return { ...api, ...witness, ...root, rootAt, address, versions, send };
}

describe("the http backend of terraform", () => {
  beforeEach((context) => {
    const { status } = spawnSync(COMMAND, ["version"]);
    context.skip(status !== 0, `${COMMAND} cannot be run on this machine`);
  });

  it("sends for each command the requests that are known of it", { timeout: 300_000 }, async () => {
    const { ok, write, seen, taken, versions, rootAt, address, first, send } = await start();
    expect(taken()).toBe("GET");
    // A number that no double holds: nothing of a state is written anew on its way.
    const number = "12345678901234567890123";
    await write(config(number));
    await ok("apply", "-auto-approve");
    const lock = JSON.parse(seen[0]?.body ?? "{}") as { readonly ID: string };
    const post = seen.find(({ method }) => method === "POST");
    expect(post?.url).toContain(`?ID=${lock.ID}`);
    expect(taken()).toBe("LOCK GET GET POST UNLOCK");
    const [version] = await versions();
    const md5 = createHash("md5").update(post?.body ?? "");
    expect(post?.headers["content-md5"]).toBe(md5.copy().digest("base64"));
    expect(version).toMatchObject({ serial: "1", md5: md5.digest("hex") });
    expect(await (await send("GET", "")).text()).toContain(number);

    await ok("apply", "-auto-approve");
    expect(taken()).toBe("LOCK GET UNLOCK");
    await write(config('"two"'));
    await ok("apply", "-auto-approve");
    const { lineage } = version ?? {};
    expect(await versions()).toMatchObject([{ serial: "2", lineage }, { serial: "1" }]);

    const other = await rootAt();
    await other.write(`
      data "terraform_remote_state" "shop" {
        backend = "http"
        config  = { address = "${address}", username = "ci", password = "${first.token}" }
      }
      output "read" { value = data.terraform_remote_state.shop.outputs.a }`);
    await other.ok("init");
    taken();
    expect(await other.ok("plan")).toContain('read = "two"');
    expect(taken()).toMatch(/^GET( GET)*$/);

    for (const words of [["state", "list"], ["state", "pull"], ["output"]]) await ok(...words);
    expect(taken()).toBe("GET GET GET");
    await ok("state", "mv", "terraform_data.a", "terraform_data.b");
    expect(taken()).toBe("LOCK GET POST UNLOCK");
    await ok("state", "rm", "terraform_data.b");
    expect(taken()).toBe("LOCK GET POST UNLOCK");
    await ok("apply", "-auto-approve");
    taken();
    await ok("destroy", "-auto-approve");
    const last = seen.findLast(({ method }) => method === "POST");
    expect(JSON.parse(last?.body ?? "{}")).toMatchObject({ resources: [] });
    expect(taken()).toBe("LOCK GET POST UNLOCK");
  });

  it("has other methods by the environment, and its local state is moved with few requests", {
    timeout: 120_000,
  }, async () => {
    const { rootAt, address, taken } = await start();
    const root = await rootAt({
      TF_HTTP_UPDATE_METHOD: "PUT",
      TF_HTTP_LOCK_ADDRESS: `${address}/lock`,
      TF_HTTP_UNLOCK_ADDRESS: `${address}/lock`,
      TF_HTTP_LOCK_METHOD: "PUT",
      TF_HTTP_UNLOCK_METHOD: "DELETE",
    });
    await root.write(RESOURCES('"one"'));
    await root.ok("init");
    await root.ok("apply", "-auto-approve");
    const { resources, outputs } = JSON.parse(await root.ok("state", "pull")) as State;
    await root.write(config('"one"'));
    taken();
    await root.ok("init", "-migrate-state", "-force-copy");
    expect(taken()).toBe("GET PUT GET GET PUT DELETE GET");
    // Lineage and serial are new ones, which the command makes.
    expect(JSON.parse(await root.ok("state", "pull"))).toMatchObject({ resources, outputs });
    await root.write(config('"two"'));
    taken();
    await root.ok("apply", "-auto-approve");
    expect(taken()).toBe("PUT GET PUT DELETE");
  });

  it("repeats what fails for a while, and keeps in a file what could not be stored", {
    timeout: 300_000,
  }, async () => {
    const { ok, fails, write, taken, faults, versions } = await start();
    await ok("apply", "-auto-approve");
    taken();
    let left = 2;
    faults.of = ({ method }) => {
      if (method !== "GET" || left === 0) return undefined;
      left -= 1;
      return 503;
    };
    await ok("state", "list");
    expect(taken()).toBe("GET GET GET");
    left = 5;
    expect(await fails("state", "list")).toContain("giving up after 3 attempt(s)");
    taken();

    faults.of = ({ method }) => (method === "POST" ? 500 : undefined);
    await write(config('"two"'));
    expect(await fails("apply", "-auto-approve")).toContain("errored.tfstate");
    expect(taken()).toBe("LOCK GET POST POST POST UNLOCK");
    faults.of = () => undefined;
    expect(await ok("output", "-raw", "a")).toBe("one");
    taken();
    await ok("state", "push", "errored.tfstate");
    expect(taken()).toBe("LOCK GET POST UNLOCK");
    expect(await ok("output", "-raw", "a")).toBe("two");
    expect((await versions()).map(({ serial }) => serial)).toEqual(["3", "1"]);
  });

  it("is kept out by a lock until that ends, and by a token that may not", {
    timeout: 300_000,
  }, async () => {
    const { ok, fails, start: begin, write, seen, taken, send, rootAt, tokenOf } = await start();
    await ok("apply", "-auto-approve");
    const lock = { ID: "0d0d0d0d-1111-2222-3333-444444444444", Operation: "OperationTypeApply" };
    expect((await send("LOCK", "", lock)).status).toBe(200);
    const held = await fails("plan");
    expect(held).toContain("Error acquiring the state lock");
    expect(held).toContain(lock.ID);
    // Without a lock of its own it can store nothing.
    await write(config('"two"'));
    expect(await fails("apply", "-auto-approve", "-lock=false")).toContain("errored.tfstate");
    expect(await ok("output", "-raw", "a")).toBe("one");

    taken();
    const waits = begin(["plan", "-lock-timeout=60s"]);
    const locks = () => seen.filter(({ method }) => method === "LOCK").length;
    await expect.poll(locks, { timeout: 60_000 }).toBeGreaterThan(2);
    expect((await send("UNLOCK", "", lock)).status).toBe(200);
    waits.child.stdin.end();
    expect(await waits.ended).toMatchObject({ code: 0 });

    expect((await send("LOCK", "", lock)).status).toBe(200);
    const reader = await rootAt({ TF_HTTP_PASSWORD: await tokenOf("reader") });
    await reader.write(config('"one"'));
    expect(await reader.fails("init")).toContain("auth");
    const wrong = await rootAt({ TF_HTTP_PASSWORD: "sw1.wrong.token" });
    await wrong.write(config('"one"'));
    expect(await wrong.fails("init")).toContain("requires auth");
    taken();
    await ok("force-unlock", "-force", lock.ID);
    expect([seen.at(-1)?.method, seen.at(-1)?.body]).toEqual(["UNLOCK", ""]);
    await ok("apply", "-auto-approve");
    expect(await ok("output", "-raw", "a")).toBe("two");
  });
});

it("the http backend of tofu has its token in a header", { timeout: 120_000 }, async (context) => {
  const { status } = spawnSync(TOFU, ["version"]);
  context.skip(status !== 0, `${TOFU} cannot be run on this machine`);
  const { server, first } = await startApi("none");
  const address = `${server.url}/state/v1/default/web/shop`;
  const { write, ok } = await terraformRoot(TOFU, {});
  await write(`terraform {
    backend "http" {
      address        = "${address}"
      lock_address   = "${address}"
      unlock_address = "${address}"
      headers        = { Authorization = "Bearer ${first.token}" }
    }
  }
  ${RESOURCES('"one"')}`);
  await ok("init");
  await ok("apply", "-auto-approve");
  expect(await ok("output", "-raw", "a")).toBe("one");
});
