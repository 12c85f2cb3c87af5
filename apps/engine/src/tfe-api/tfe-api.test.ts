import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";

const ALL = "/api/v2/organizations/default/workspaces";

function stateOf(serial: number, outputs: object = {}, resources: readonly object[] = []): string {
  const head = { version: 4, terraform_version: "1.11.4", serial, lineage: "line" };
  return `${JSON.stringify({ ...head, outputs, resources, check_results: null })}\n`;
}

function md5Of(text: string): string {
  return createHash("md5").update(text).digest("hex");
}

interface Resource {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

async function start(options: Parameters<typeof startApi>[1] = {}) {
  const api = await startApi("none", options);
  const { call, server } = api;
  const attributes = (given: object) => ({ body: { data: { type: "", attributes: given } } });
  const dataOf = (answer: { readonly json: Record<string, unknown> }): Resource =>
    answer.json["data"] as Resource;
  const create = async (name: string): Promise<string> =>
    dataOf(await call("POST", ALL, attributes({ name }))).id;
  const announce = async (id: string, text: string, more: object = {}, token?: string) =>
    call("POST", `/api/v2/workspaces/${id}/state-versions`, {
      ...attributes({
        serial: (JSON.parse(text) as { serial: number }).serial,
        md5: md5Of(text),
        lineage: "line",
        ...more,
      }),
      token,
    });
  const put = async (address: unknown, text: string): Promise<number> =>
    (await fetch(String(address), { method: "PUT", body: text })).status;
  const uploadOf = (answer: { readonly json: Record<string, unknown> }): unknown =>
    dataOf(answer).attributes["hosted-state-upload-url"];
  const store = async (id: string, text: string): Promise<number> =>
    put(uploadOf(await announce(id, text)), text);
  const act = async (id: string, action: string, token = api.first.token) =>
    call("POST", `/api/v2/workspaces/${id}/actions/${action}`, { token });
  return { ...api, server, attributes, dataOf, create, announce, put, uploadOf, store, act };
}

describe("a workspace", () => {
  it("has all permissions and actions that commands read, and what a page needs", async () => {
    const { create, call, dataOf } = await start();
    await create("demo");
    const shown = dataOf(await call("GET", `${ALL}/demo`));
    expect(shown.id).toMatch(/^ws-[0-9A-Za-z]{16}$/);
    expect(shown.attributes).toMatchObject({
      "execution-mode": "local",
      locked: false,
      "terraform-version": "latest",
      "vcs-repo": null,
      actions: { "is-destroyable": true },
      permissions: { "can-queue-run": true, "can-force-delete": true, "can-update": true },
    });
    const list = await call("GET", `${ALL}?page%5Bsize%5D=1&TagBindings=%7B%7D`);
    expect(list.json["meta"]).toEqual({
      pagination: {
        "current-page": 1,
        "prev-page": null,
        "next-page": null,
        "total-pages": 1,
        "total-count": 1,
      },
    });
    for (const name of ["tfp-api-version", "x-tfe-version", "tfp-appname"]) {
      expect(list.headers.get(name)).not.toBe(null);
    }
    expect((await call("GET", "/api/v2/ping", { token: "" })).status).toBe(204);
  });

  it("has a name that no other one has, and is found by tags", async () => {
    const { create, call, attributes } = await start();
    const id = await create("demo");
    expect((await call("POST", ALL, attributes({ name: "demo" }))).status).toBe(422);
    expect((await call("POST", ALL, attributes({ name: "../x" }))).status).toBe(422);
    const [one, two] = await Promise.all(
      [1, 2].map(async () => call("POST", ALL, attributes({ name: "race" }))),
    );
    expect(new Set([one?.status, two?.status])).toEqual(new Set([201, 422]));
    const bindings = [{ type: "tag-bindings", attributes: { key: "env", value: "prod" } }];
    await call("PATCH", `/api/v2/workspaces/${id}/tag-bindings`, { body: { data: bindings } });
    const names = [{ type: "tags", attributes: { name: "app" } }];
    await call("POST", `/api/v2/workspaces/${id}/relationships/tags`, { body: { data: names } });
    const found = async (query: string): Promise<number> =>
      ((await call("GET", `${ALL}?${query}`)).json["data"] as readonly object[]).length;
    const tagged = (value: string): string =>
      `filter%5Btagged%5D%5B0%5D%5Bkey%5D=env&filter%5Btagged%5D%5B0%5D%5Bvalue%5D=${value}`;
    expect(await found("search%5Btags%5D=app")).toBe(1);
    expect(await found(`search%5Btags%5D=app&${tagged("prod")}`)).toBe(1);
    expect(await found(tagged("test"))).toBe(0);
    expect(await found("search%5Bname%5D=em")).toBe(1);
  });

  it("is a stack that was made elsewhere, with its project in the name of a second one", async () => {
    const { call } = await start();
    for (const project of ["web", "net"]) {
      await call("POST", `/api/v1/projects/${project}/stacks`, { body: { name: "same" } });
    }
    const list = await call("GET", ALL);
    const names = (list.json["data"] as Resource[]).map(({ attributes: { name } }) => name);
    expect(names).toEqual(["same", "web--same"]);
    expect((await call("GET", `${ALL}/same`)).status).toBe(200);
    expect((await call("GET", `${ALL}/web--same`)).status).toBe(200);
    expect((await call("GET", `${ALL}/net--same`)).status).toBe(404);
  });

  it("has the name that it would have without those of projects that the caller does not see", async () => {
    const long = "l".repeat(88);
    const answersWith = async (others: readonly string[]): Promise<unknown> => {
      const { call, tokenOf } = await start();
      await call("POST", "/api/v1/projects", { body: { name: "web" } });
      for (const name of others) {
        await call("POST", "/api/v1/projects/net/stacks", { body: { name } });
        expect((await call("GET", `${ALL}/${name}`)).status).toBe(200);
      }
      await call("POST", "/api/v1/projects/web/stacks", { body: { name: "older" } });
      const token = await tokenOf("admin", ["web"]);
      const facts = ({ status, json }: Awaited<ReturnType<typeof call>>) => {
        const { data = [] } = json as { readonly data?: Resource | readonly Resource[] };
        return [status, ...[data].flat().map((one) => one.attributes["name"])];
      };
      const make = async (name: string) => {
        const project = { data: { type: "projects", id: "prj-web" } };
        const data = { type: "workspaces", attributes: { name }, relationships: { project } };
        return facts(await call("POST", ALL, { token, body: { data } }));
      };
      const made = [];
      for (const name of ["same", "same", "older", long]) made.push(await make(name));
      const names = ["same", "older", long];
      const shown = names.map(async (name) =>
        facts(await call("GET", `${ALL}/${name}`, { token })),
      );
      // Who sees all has one name for each.
      const { json } = await call("GET", ALL);
      const all = (json["data"] as Resource[]).map(({ attributes: { name } }) => name);
      expect(new Set(all).size).toBe(3 + others.length);
      return [made, await Promise.all(shown), facts(await call("GET", ALL, { token }))];
    };
    const alone = await answersWith([]);
    expect(await answersWith(["same", "older", long])).toEqual(alone);
    expect(alone).toEqual([
      [[201, "same"], [422], [422], [201, long]],
      [
        [200, "same"],
        [200, "older"],
        [200, long],
      ],
      [200, long, "older", "same"],
    ]);
  });

  it("is found by no name that none can have, by any caller", async () => {
    const { call, tokenOf } = await start();
    await call("POST", "/api/v1/projects/web/stacks", { body: { name: "with.dots" } });
    for (const projects of [[], ["web"]]) {
      const token = await tokenOf("admin", projects);
      for (const name of ["with.dots", "a\u0000b", "a/b", "x".repeat(1_000)]) {
        const path = `${ALL}/${encodeURIComponent(name)}`;
        expect((await call("GET", path, { token })).status).toBe(404);
      }
    }
  });

  it("is seen by its organization, and by tokens of its project, alone", async () => {
    const { create, call, tokenOf } = await start();
    await create("demo");
    expect((await call("GET", ALL.replace("default", "other"))).status).toBe(404);
    const token = await tokenOf("deployer", ["web"]);
    expect((await call("GET", `${ALL}/demo`, { token })).status).toBe(404);
    expect((await call("GET", ALL, { token })).json["data"]).toEqual([]);
    const reader = await tokenOf("reader");
    const body = { data: { attributes: { name: "more" } } };
    expect((await call("POST", ALL, { token: reader, body })).status).toBe(403);
    expect((await call("GET", ALL, { token: "" })).status).toBe(401);
  });
});

describe("a lock", () => {
  it("is refused a second time, and ended by its holder or by force", async () => {
    const { create, act, tokenOf } = await start();
    const id = await create("demo");
    const other = await tokenOf("deployer");
    expect((await act(id, "lock")).status).toBe(200);
    expect((await act(id, "lock")).status).toBe(409);
    const refused = await act(id, "unlock", other);
    expect([refused.status, refused.text]).toEqual([
      409,
      expect.stringContaining("is locked by User"),
    ]);
    expect((await act(id, "force-unlock", await tokenOf("reader"))).status).toBe(403);
    expect((await act(id, "force-unlock", other)).status).toBe(200);
    const again = await act(id, "force-unlock");
    expect([again.status, again.text]).toEqual([409, expect.stringContaining("already unlocked")]);
    expect((await act(id, "lock")).status).toBe(200);
    expect((await act(id, "unlock")).status).toBe(200);
  });

  it("is the one that commands of the http backend have", async () => {
    const { create, act, server, first } = await start();
    const id = await create("demo");
    await act(id, "lock");
    const authorization = `Bearer ${first.token}`;
    const body = JSON.stringify({ ID: "x", Operation: "OperationTypeApply" });
    const address = `${server.url}/state/v1/default/default/demo`;
    const locked = await fetch(address, { method: "LOCK", headers: { authorization }, body });
    expect(locked.status).toBe(423);
  });
});

describe("a state", () => {
  it("is stored under the lock, and read as the very bytes", async () => {
    const { create, act, announce, store, put, uploadOf, call, dataOf } = await start();
    const id = await create("demo");
    expect((await call("GET", `/api/v2/workspaces/${id}/current-state-version`)).status).toBe(404);
    expect((await announce(id, stateOf(1))).status).toBe(409);
    await act(id, "lock");
    const announced = await announce(id, stateOf(1));
    expect([announced.status, dataOf(announced).attributes["status"]]).toEqual([201, "pending"]);
    expect(await put(uploadOf(announced), stateOf(2))).toBe(409);
    expect(await put(uploadOf(announced), stateOf(1))).toBe(200);
    expect(await put(uploadOf(announced), stateOf(1))).toBe(200);
    const current = dataOf(await call("GET", `/api/v2/workspaces/${id}/current-state-version`));
    expect(current.id).toBe(dataOf(announced).id);
    const address = String(current.attributes["hosted-state-download-url"]);
    expect(await (await fetch(address)).text()).toBe(stateOf(1));
    expect(await store(id, stateOf(3))).toBe(200);
    expect((await announce(id, stateOf(2))).status).toBe(409);
    expect((await announce(id, stateOf(3, { a: {} }))).status).toBe(409);
    expect((await announce(id, stateOf(2), { force: true })).status).toBe(201);
    const kept = await call("GET", "/api/v1/projects/default/stacks/demo/state-versions");
    expect(kept.json["state_versions"]).toHaveLength(2);
  });

  it("is not stored under another lock than that of its announcement", async () => {
    const { create, act, announce, put, uploadOf } = await start();
    const id = await create("demo");
    await act(id, "lock");
    const upload = uploadOf(await announce(id, stateOf(1)));
    await act(id, "force-unlock");
    expect(await put(upload, stateOf(1))).toBe(409);
    await act(id, "lock");
    expect(await put(upload, stateOf(1))).toBe(409);
  });

  it("has addresses that no caller can change", async () => {
    const { create, act, announce, put, uploadOf, store, call, dataOf } = await start();
    const id = await create("demo");
    await act(id, "lock");
    const upload = String(uploadOf(await announce(id, stateOf(1))));
    const changed = upload.replace("/state-upload/W", "/state-upload/X");
    expect(changed).not.toBe(upload);
    expect(await put(changed, stateOf(1))).toBe(403);
    expect(await put(upload.replace("state-upload", "json-state-upload"), stateOf(1))).toBe(403);
    expect((await fetch(upload.replace("state-upload", "state-content"))).status).toBe(403);
    expect(await store(id, stateOf(1))).toBe(200);
    expect((await call("GET", `/api/v2/state-versions/sv-x-1-${"0".repeat(32)}`)).status).toBe(404);
    expect(dataOf(await call("GET", `${ALL}/demo`)).attributes["locked"]).toBe(true);
  });

  it("has addresses that end with the token of the request, its user or its role", async () => {
    const { create, act, announce, put, uploadOf, call, server } = await start();
    const id = await create("demo");
    await call("POST", "/api/v1/users", { body: { name: "lea" } });
    const give = async (role: string) => call("PUT", "/api/v1/roles/user/lea", { body: { role } });
    await give("operator");
    const made = await server.credentials.createToken({
      account: "default",
      user: "lea",
      roles: ["deployer"],
    });
    const own = await server.credentials.createToken({ account: "default", roles: ["deployer"] });
    const uploadBy = async (workspace: string, token: string) => {
      await act(workspace, "lock", token);
      return String(uploadOf(await announce(workspace, stateOf(1), {}, token)));
    };
    const byUser = await uploadBy(id, made.token);
    const byToken = await uploadBy(await create("other"), own.token);
    await give("viewer");
    expect(await put(byUser, stateOf(1))).toBe(403);
    await give("operator");
    await call("PATCH", "/api/v1/users/lea", { body: { disabled: true } });
    expect(await put(byUser, stateOf(1))).toBe(403);
    await call("PATCH", "/api/v1/users/lea", { body: { disabled: false } });
    await server.credentials.revoke(made.tokenId);
    expect(await put(byUser, stateOf(1))).toBe(403);
    expect(await put(byToken, stateOf(1))).toBe(200);
    await server.credentials.revoke(own.tokenId);
    expect(await put(byToken, stateOf(1))).toBe(403);
  });

  it("has addresses that are of use in the projects alone that their user has by now", async () => {
    const { create, act, announce, put, uploadOf, call, server } = await start();
    const id = await create("demo");
    await call("POST", "/api/v1/users", { body: { name: "lea" } });
    const roleIn = async (name: string, method: "PUT" | "DELETE") =>
      call(method, `/api/v1/projects/${name}/roles/user/lea`, {
        ...(method === "PUT" && { body: { role: "operator" } }),
      });
    expect((await roleIn("default", "PUT")).status).toBeLessThan(300);
    expect((await roleIn("elsewhere", "PUT")).status).toBeLessThan(300);
    const given = { account: "default", user: "lea", roles: ["deployer" as const] };
    const { token } = await server.credentials.createToken(given);
    await act(id, "lock", token);
    const address = uploadOf(await announce(id, stateOf(1), {}, token));
    await roleIn("default", "DELETE");
    expect(await put(address, stateOf(1))).toBe(404);
    await roleIn("default", "PUT");
    expect(await put(address, stateOf(1))).toBe(200);
  });

  it("shows sensitive outputs to operators alone", async () => {
    const { create, act, store, call, tokenOf } = await start();
    const id = await create("demo");
    await act(id, "lock");
    const outputs = {
      plain: { value: [1], type: ["list", "number"] },
      secret: { value: "hidden", type: "string", sensitive: true },
    };
    await store(id, stateOf(1, outputs));
    const token = await tokenOf("reader");
    const list = await call("GET", `/api/v2/workspaces/${id}/current-state-version-outputs`, {
      token,
    });
    const [plain, secret] = list.json["data"] as Resource[];
    expect(plain?.attributes).toMatchObject({
      value: [1],
      type: "array",
      "detailed-type": ["list", "number"],
    });
    expect(secret?.attributes).toMatchObject({ value: null, sensitive: true, type: "string" });
    const address = `/api/v2/state-version-outputs/${secret?.id}`;
    expect((await call("GET", address, { token })).status).toBe(403);
    expect((await call("GET", address)).text).toContain("hidden");
    expect(
      (await call("GET", `/api/v2/state-version-outputs/${plain?.id}`, { token })).status,
    ).toBe(200);
    const state = await call("GET", `/api/v2/workspaces/${id}/current-state-version`, { token });
    expect(state.status).toBe(403);
  });

  it("of a stack with runs is refused, with the lock that was taken for it", async () => {
    const { call, upload, act, announce, dataOf } = await start();
    await call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
    const { digest } = (await upload()).json;
    await call("POST", "/api/v1/projects/web/stacks/one/runs", { body: { configuration: digest } });
    const { id } = dataOf(await call("GET", `${ALL}/one`));
    expect((await act(id, "lock")).status).toBe(200);
    const refused = await announce(id, stateOf(1));
    expect([refused.status, refused.text]).toEqual([409, expect.stringContaining("runs")]);
    expect((await act(id, "unlock")).status).toBe(409);
  });

  it("goes with its workspace, which has no resources or is deleted by force", async () => {
    const { create, act, store, call } = await start();
    const id = await create("demo");
    await act(id, "lock");
    await store(
      id,
      stateOf(1, {}, [
        {
          mode: "managed",
          type: "t",
          name: "a",
          provider: 'provider["x.test/a/t"]',
          instances: [],
        },
      ]),
    );
    const safely = `${ALL}/demo/actions/safe-delete`;
    expect((await call("POST", safely)).text).toContain("resources");
    expect((await call("DELETE", `${ALL}/demo`)).text).toContain("locked");
    await act(id, "unlock");
    expect((await call("POST", safely)).status).toBe(409);
    expect((await call("DELETE", `${ALL}/demo`)).status).toBe(204);
    expect((await call("GET", `${ALL}/demo`)).status).toBe(404);
    expect((await call("GET", `/api/v2/workspaces/${id}`)).status).toBe(404);
    const again = await create("demo");
    expect(again).not.toBe(id);
    expect((await call("GET", `/api/v2/workspaces/${again}/current-state-version`)).status).toBe(
      404,
    );
    expect((await call("POST", safely)).status).toBe(204);
  });
});

it("takes so many requests of a credential, signed addresses among them", async () => {
  const { call, create, act, announce, put, uploadOf, tokenOf } = await start({
    apiRateLimit: { perSecond: 0.01, burst: 5 },
  });
  const id = await create("demo");
  await act(id, "lock");
  const upload = uploadOf(await announce(id, stateOf(1)));
  expect(await put(upload, stateOf(1))).toBe(200);
  expect((await call("GET", ALL)).status).toBe(200);
  const limited = await call("GET", ALL);
  expect([limited.status, Number(limited.headers.get("retry-after")) > 1]).toEqual([429, true]);
  expect(await put(upload, stateOf(1))).toBe(429);
  expect((await call("GET", ALL, { token: await tokenOf("reader") })).status).toBe(200);
});

it("is found by service discovery", async () => {
  const { call } = await start();
  const { json, headers } = await call("GET", "/.well-known/terraform.json", { token: "" });
  expect(headers.get("content-type")).toContain("application/json");
  expect(json).toMatchObject({
    "tfe.v2": "/api/v2/",
    "tfe.v2.1": "/api/v2/",
    "tfe.v2.2": "/api/v2/",
    "state.v2": "/api/v2/",
    "modules.v1": "/terraform/v1/modules/",
    "providers.v1": "/terraform/v1/providers/",
    "login.v1": {
      client: "terraform-cli",
      grant_types: ["authz_code"],
      authz: "/oauth/authorize",
      token: "/oauth/token",
      ports: [10_000, 10_010],
    },
  });
});
