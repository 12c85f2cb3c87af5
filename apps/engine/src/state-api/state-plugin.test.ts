import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";

const ADDRESS = "/state/v1/default/web/shop";
const LOCK = {
  ID: "5a8a9a2e-0000-4000-8000-000000000001",
  Operation: "OperationTypeApply",
  Info: "",
  Who: "ann@build-7",
  Version: "1.11.4",
  Created: "2026-01-02T03:04:05Z",
  Path: "",
};
const OTHER = { ...LOCK, ID: "5a8a9a2e-0000-4000-8000-000000000002", Who: "ben@build-8" };

function stateOf(serial: number, lineage = "line", resources: readonly object[] = []): string {
  const head = { version: 4, terraform_version: "1.11.4", serial, lineage, outputs: {} };
  return `${JSON.stringify({ ...head, resources, check_results: null }, undefined, 2)}\n`;
}

async function start() {
  const api = await startApi("none");
  const { server, first, tokenOf } = api;
  /** A request as terraform sends it. */
  const send = async (
    method: string,
    {
      path = ADDRESS,
      body = "",
      token = first.token,
      headers = {},
    }: {
      readonly path?: string;
      readonly body?: string | object;
      readonly token?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const md5 = createHash("md5").update(text).digest("base64");
    const answer = await fetch(server.url + path, {
      method,
      headers: {
        authorization: `Basic ${Buffer.from(`any:${token}`).toString("base64")}`,
        ...(text !== "" && { "content-type": "application/json", "content-md5": md5 }),
        ...headers,
      },
      ...(text !== "" && { body: text }),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  const post = async (body: string, id?: string) =>
    send("POST", { body, ...(id !== undefined && { path: `${ADDRESS}?ID=${id}` }) });
  return {
    ...api,
    send,
    post,
    reader: await tokenOf("reader"),
    operator: await tokenOf("deployer"),
  };
}

it("serves a plan and apply as terraform does them", async () => {
  const { send, post } = await start();
  expect((await send("LOCK", { body: LOCK })).status).toBe(200);
  expect((await send("GET")).status).toBe(404);
  expect((await post(stateOf(1), LOCK.ID)).status).toBe(200);
  expect((await send("UNLOCK", { body: LOCK })).status).toBe(200);
  const { status, text, headers } = await send("GET");
  expect([status, text]).toEqual([200, stateOf(1)]);
  const md5 = createHash("md5").update(stateOf(1)).digest("base64");
  expect(headers.get("content-md5")).toBe(md5);
  expect(headers.get("content-length")).toBe(String(stateOf(1).length));
});

describe("a lock", () => {
  it("keeps out every other command, which learns who has it", async () => {
    const { send, post } = await start();
    await send("LOCK", { body: LOCK });
    const refused = await send("LOCK", { body: OTHER });
    expect(refused.status).toBe(423);
    expect(JSON.parse(refused.text)).toEqual(LOCK);
    for (const id of [undefined, OTHER.ID]) {
      const answer = await post(stateOf(1), id);
      expect([answer.status, JSON.parse(answer.text)]).toEqual([423, LOCK]);
    }
    expect((await send("DELETE")).status).toBe(423);
    expect((await send("UNLOCK", { body: OTHER })).status).toBe(409);
    expect((await send("GET")).status).toBe(404);
  });

  it.each([undefined, "", "yesterday", "2026-13-45T99:00:00Z"])(
    "of a script is shown with a time that commands can read, in place of %j",
    async (created) => {
      const { send } = await start();
      const lock = { ID: "by hand", ...(created !== undefined && { Created: created }) };
      expect((await send("LOCK", { body: lock })).status).toBe(200);
      const shown = JSON.parse((await send("LOCK", { body: OTHER })).text) as typeof LOCK;
      expect([shown.ID, new Date(shown.Created).toISOString()]).toEqual(["by hand", shown.Created]);
    },
  );

  it("is given again to a request that is repeated, and taken once", async () => {
    const { send } = await start();
    for (let time = 0; time < 2; time += 1) {
      expect((await send("LOCK", { body: LOCK })).status).toBe(200);
    }
    for (let time = 0; time < 2; time += 1) {
      expect((await send("UNLOCK", { body: LOCK })).status).toBe(200);
    }
    expect((await send("LOCK", { body: OTHER })).status).toBe(200);
  });

  it("is the lock of the stack: runs wait, and who locked the stack keeps commands out", async () => {
    const { send, call } = await start();
    await send("LOCK", { body: LOCK });
    const path = "/api/v1/projects/web/stacks/shop/lock";
    const reason = "terraform apply by ann@build-7, version 1.11.4";
    expect((await call("GET", path)).json).toMatchObject({ reason });
    expect((await call("PUT", path, { body: { reason: "mine" } })).json).toMatchObject({
      code: "stack_locked",
    });
    expect((await call("DELETE", path)).status).toBe(409);
    expect((await call("DELETE", `${path}?force=true`)).status).toBe(204);
    expect((await call("PUT", path, { body: { reason: "migration" } })).status).toBe(201);
    const refused = await send("LOCK", { body: LOCK });
    expect(refused.status).toBe(423);
    expect(JSON.parse(refused.text)).toMatchObject({
      ID: expect.stringMatching(/^.+: migration$/),
      Info: "migration",
    });
  });

  it("is broken without a body, after which its command can no longer write", async () => {
    const { send, post, operator } = await start();
    await send("LOCK", { body: LOCK });
    expect((await send("UNLOCK", { token: operator })).status).toBe(200);
    expect((await post(stateOf(1), LOCK.ID)).status).toBe(409);
    await send("LOCK", { body: OTHER });
    expect((await post(stateOf(1), LOCK.ID)).status).toBe(423);
    expect((await send("UNLOCK", { body: LOCK })).status).toBe(409);
    expect((await send("GET")).status).toBe(404);
  });

  it("of a person is broken by an administrator only", async () => {
    const { send, call, operator } = await start();
    await send("LOCK", { body: LOCK });
    await send("UNLOCK", { body: LOCK });
    await call("PUT", "/api/v1/projects/web/stacks/shop/lock", { body: { reason: "migration" } });
    expect((await send("UNLOCK", { token: operator })).status).toBe(423);
    expect((await send("UNLOCK")).status).toBe(200);
  });

  it("can be requested with the methods of other clients", async () => {
    const { send } = await start();
    const path = `${ADDRESS}/lock`;
    for (const [lock, unlock] of [
      ["PUT", "DELETE"],
      ["POST", "DELETE"],
      ["LOCK", "UNLOCK"],
    ] as const) {
      expect((await send(lock, { path, body: LOCK })).status).toBe(200);
      expect((await send("LOCK", { body: OTHER })).status).toBe(423);
      expect((await send(unlock, { path, body: LOCK })).status).toBe(200);
    }
  });

  it.each([
    ["no JSON", "{"],
    ["no ID", {}],
    ["an empty ID", { ID: "" }],
    ["an ID of 129 characters", { ID: "x".repeat(129) }],
    ["a number as Who", { ID: "a", Who: 1 }],
  ])("with %s is refused", async (_name, body) => {
    const { send } = await start();
    expect((await send("LOCK", { body })).status).toBe(400);
  });

  it("has an ID of up to 128 characters, and further words of any length", async () => {
    const { send } = await start();
    const body = { ...LOCK, ID: "x".repeat(128), Info: "i".repeat(10_000) };
    expect((await send("LOCK", { body })).status).toBe(200);
    expect((await send("LOCK", { body: { ...body, Info: "i".repeat(70_000) } })).status).toBe(413);
    expect((await send("UNLOCK", { body })).status).toBe(200);
  });
});

describe("a state", () => {
  it("is replaced by the next serial, and again by a repeated request, by nothing else", async () => {
    const { send, post, call } = await start();
    expect((await post(stateOf(2))).status).toBe(200);
    expect((await post(stateOf(2))).status).toBe(200);
    expect((await post(stateOf(2, "line", [{}]))).status).toBe(409);
    expect((await post(stateOf(1))).status).toBe(409);
    expect((await send("GET")).text).toBe(stateOf(2));
    expect((await post(stateOf(3))).status).toBe(200);
    const { json } = await call("GET", "/api/v1/projects/web/stacks/shop/state-versions");
    expect(json["state_versions"]).toMatchObject([
      { version: 2, current: true, serial: "3" },
      { version: 1, current: false, serial: "2" },
    ]);
  });

  it("of another lineage is accepted from the holder of the lock only, with a higher serial", async () => {
    const { send, post, call } = await start();
    await post(stateOf(5));
    expect((await post(stateOf(6, "other"))).status).toBe(409);
    await send("LOCK", { body: LOCK });
    expect((await post(stateOf(4, "other"), LOCK.ID)).status).toBe(409);
    expect((await post(stateOf(6, "other"), LOCK.ID)).status).toBe(200);
    const { json } = await call("GET", "/api/v1/projects/web/stacks/shop/state-versions/2");
    expect(json).toMatchObject({ lineage: "other", lineage_changed: true, who: "ann@build-7" });
  });

  it.each([
    ["no JSON", "{", 422],
    ["a list", "[]", 422],
    ["of version 3", '{"version":3,"serial":1,"modules":[]}', 422],
    ["empty", "", 422],
  ])("that is %s is refused, and nothing is stored", async (_name, body, status) => {
    const { send, post } = await start();
    expect((await post(body)).status).toBe(status);
    expect((await send("GET")).status).toBe(404);
  });

  it("is compared with its Content-MD5", async () => {
    const { send } = await start();
    const wrong = createHash("md5").update("other").digest("base64");
    for (const md5 of [wrong, "no digest"]) {
      const headers = { "content-md5": md5 };
      expect((await send("POST", { body: stateOf(1), headers })).status).toBe(400);
      expect((await send("LOCK", { body: LOCK, headers })).status).toBe(400);
    }
    expect((await send("GET")).status).toBe(404);
    expect((await send("LOCK", { body: OTHER })).status).toBe(200);
  });

  it("that is deleted leaves its versions, and begins anew with any serial", async () => {
    const { send, post, call } = await start();
    await post(stateOf(5));
    expect((await send("DELETE")).status).toBe(200);
    expect((await send("DELETE")).status).toBe(200);
    expect((await send("GET")).status).toBe(404);
    expect((await post(stateOf(1, "new"))).status).toBe(200);
    const { json } = await call("GET", "/api/v1/projects/web/stacks/shop/state-versions");
    expect(json["state_versions"]).toHaveLength(2);
  });
});

describe("versions", () => {
  const S = "/api/v1/projects/web/stacks/shop/state-versions";

  it("can be downloaded as they were stored, by operators", async () => {
    const { post, call, reader, operator } = await start();
    await post(stateOf(1, "line", [{ secret: "s3cret" }]));
    await post(stateOf(2));
    expect((await call("GET", `${S}/1/content`, { token: operator })).text).toBe(
      stateOf(1, "line", [{ secret: "s3cret" }]),
    );
    expect((await call("GET", `${S}/1/content`, { token: reader })).status).toBe(403);
    expect((await call("GET", `${S}/3/content`)).status).toBe(404);
    expect((await call("GET", `${S}/1`, { token: reader })).json).not.toHaveProperty("secret");
  });

  it("are restored with the next serial, which no saved plan of the replaced state fits", async () => {
    const { send, post, call } = await start();
    await post(stateOf(9, "line", [{ first: true }]));
    await post(stateOf(10, "line", [{ second: true }]));
    const restored = await call("POST", `${S}/1/restore`);
    expect(restored.json).toMatchObject({ version: 3, serial: "11", restored_from: 1 });
    expect((await send("GET")).text).toBe(stateOf(11, "line", [{ first: true }]));
    expect((await post(stateOf(11))).status).toBe(409);
    expect((await post(stateOf(12))).status).toBe(200);
  });

  it("are not restored while the stack is locked, nor where they are unknown", async () => {
    const { send, post, call, reader } = await start();
    await post(stateOf(1));
    await send("LOCK", { body: LOCK });
    expect((await call("POST", `${S}/1/restore`)).json).toMatchObject({ code: "stack_locked" });
    await send("UNLOCK", { body: LOCK });
    expect((await call("POST", `${S}/7/restore`)).status).toBe(404);
    expect((await call("POST", `${S}/1/restore`, { token: reader })).status).toBe(403);
    expect((await call("POST", `${S}/1/restore`)).status).toBe(201);
  });

  it("bring a deleted state back", async () => {
    const { send, post, call } = await start();
    await post(stateOf(3));
    await send("DELETE");
    expect((await call("POST", `${S}/1/restore`)).status).toBe(201);
    expect((await send("GET")).text).toBe(stateOf(4));
  });

  it("are the newest hundred", { timeout: 60_000 }, async () => {
    const { post, call } = await start();
    for (let serial = 1; serial <= 102; serial += 1) await post(stateOf(serial));
    const versions = (await call("GET", S)).json["state_versions"] as { version: number }[];
    expect([versions.length, versions[0]?.version, versions.at(-1)?.version]).toEqual([
      100, 102, 3,
    ]);
  });
});

describe("the caller", () => {
  it("has a token, as password or bearer", async () => {
    const { send, first } = await start();
    const headers = { authorization: `Bearer ${first.token}` };
    expect((await send("GET", { headers })).status).toBe(404);
    const refused = await send("GET", { token: "wrong" });
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([
      401,
      'Basic realm="stackwright"',
    ]);
    expect((await send("GET", { headers: { authorization: "" } })).status).toBe(401);
  });

  it("is refused, never answered with 404, which would mean that there is no state", async () => {
    const { send, tokenOf, reader } = await start();
    const elsewhere = await tokenOf("admin", ["elsewhere"]);
    for (const method of ["GET", "POST", "DELETE", "LOCK", "UNLOCK"]) {
      for (const token of [reader, elsewhere]) {
        expect([method, (await send(method, { token })).status]).toEqual([method, 403]);
      }
      const path = "/state/v1/other/web/shop";
      expect([method, (await send(method, { path })).status]).toEqual([method, 403]);
    }
  });

  it("needs the role admin for the first request of a stack", async () => {
    const { send, operator } = await start();
    expect((await send("LOCK", { body: LOCK, token: operator })).status).toBe(403);
    expect((await send("POST", { body: stateOf(1), token: operator })).status).toBe(403);
    await send("LOCK", { body: LOCK });
    await send("UNLOCK", { body: LOCK });
    expect((await send("LOCK", { body: LOCK, token: operator })).status).toBe(200);
  });
});

describe("a stack", () => {
  it("whose state a command keeps takes no runs, until the state is deleted", async () => {
    const { send, call, upload, post } = await start();
    await post(stateOf(1));
    const P = "/api/v1/projects/web/stacks";
    await call("POST", P, { body: { name: "one" } });
    const one = "/state/v1/default/web/one";
    await send("POST", { path: one, body: stateOf(1) });
    const { digest } = (await upload()).json;
    const request = async () => call("POST", `${P}/one/runs`, { body: { configuration: digest } });
    expect((await request()).json).toMatchObject({ code: "kept_state" });
    await send("DELETE", { path: one });
    expect((await request()).status).toBe(201);
    const refused = await send("POST", { path: one, body: stateOf(2) });
    expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
      409,
      { code: "engine_state" },
    ]);
    const lock = await send("LOCK", { path: one, body: LOCK });
    expect([lock.status, JSON.parse(lock.text)]).toMatchObject([423, { Who: "stackwright" }]);
  });
});

it("changes and refused callers are audited", async () => {
  const { send, post, call, reader } = await start();
  expect((await post(stateOf(1))).status).toBe(200);
  expect((await send("POST", { body: stateOf(2), token: reader })).status).toBe(403);
  const entries = (await call("GET", "/api/v1/registry/audit")).json["entries"];
  const target = "projects/web/stacks/shop";
  expect(entries).toContainEqual(
    expect.objectContaining({ action: "StoreState", target, outcome: "done" }),
  );
  expect(entries).toContainEqual(expect.objectContaining({ action: "State", outcome: "HTTP_403" }));
});
