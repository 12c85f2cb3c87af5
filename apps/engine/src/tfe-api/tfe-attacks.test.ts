import { connect } from "node:net";
import { expect, it } from "vitest";
import { startApi } from "../testing/start-api.ts";

const A = "/api/v2";
const ORGANIZATION = `${A}/organizations/default`;

/** Texts where others stand: parts of paths, ids, names, values of a query. */
const HOSTILE = [
  "..%2f..%2fetc%2fpasswd",
  "%2e%2e",
  "%00",
  "%0d%0aset-cookie:%20a",
  "%ff",
  "%ed%a0%80",
  "%F0%9F%92%A5",
  "__proto__",
  "constructor",
  "toString",
  "ws-",
  "ws-%00",
  "ws-..",
  "ws-__proto__",
  "ws-zzzzzzzzzzzzzzzz",
  "ws-0000000000000000",
  `ws-${"A".repeat(90)}`,
  "A".repeat(5_000),
  "run-ws-x",
  "sv-A-99999999999999999999-00000000000000000000000000000000",
  "-1",
  "1e999",
  "%5B%5D",
  "*",
];

const BY_ID = [
  "GET workspaces/:id",
  "PATCH workspaces/:id",
  "DELETE workspaces/:id",
  "GET workspaces/:id/current-state-version",
  "GET workspaces/:id/current-state-version-outputs",
  "POST workspaces/:id/state-versions",
  "POST workspaces/:id/actions/lock",
  "POST workspaces/:id/actions/unlock",
  "POST workspaces/:id/actions/force-unlock",
  "POST workspaces/:id/actions/safe-delete",
  "GET workspaces/:id/tag-bindings",
  "PATCH workspaces/:id/tag-bindings",
  "POST workspaces/:id/relationships/tags",
  "GET workspaces/:id/runs",
  "GET workspaces/:id/vars",
  "GET workspaces/:id/all-vars",
  "GET workspaces/:id/varsets",
  "POST workspaces/:id/vars",
  "GET workspaces/:id/vars/:id",
  "PATCH workspaces/:id/vars/:id",
  "DELETE workspaces/:id/vars/:id",
  "GET projects/:id/varsets",
  "GET organizations/:id/varsets",
  "POST organizations/:id/varsets",
  "GET varsets/:id",
  "PATCH varsets/:id",
  "DELETE varsets/:id",
  "POST varsets/:id/relationships/workspaces",
  "DELETE varsets/:id/relationships/workspaces",
  "POST varsets/:id/relationships/projects",
  "DELETE varsets/:id/relationships/projects",
  "GET varsets/:id/relationships/vars",
  "POST varsets/:id/relationships/vars",
  "GET varsets/:id/relationships/vars/:id",
  "PATCH varsets/:id/relationships/vars/:id",
  "DELETE varsets/:id/relationships/vars/:id",
  "POST workspaces/:id/configuration-versions",
  "GET configuration-versions/:id",
  "PUT configuration-upload/:id",
  "GET runs/:id",
  "GET runs/:id/run-events",
  "POST runs/:id/actions/apply",
  "POST runs/:id/actions/cancel",
  "GET plans/:id",
  "GET plans/:id/json-output",
  "GET applies/:id",
  "GET logs/:id",
  "GET state-versions/:id",
  "GET state-versions/:id/outputs",
  "GET state-version-outputs/:id",
  "GET state-content/:id",
  "PUT state-upload/:id",
  "PUT json-state-upload/:id",
  "GET policy-checks/:id",
  "POST policy-checks/:id/actions/override",
  "GET organizations/:id",
  "GET organizations/:id/entitlement-set",
  "GET organizations/:id/workspaces",
  "POST organizations/:id/workspaces",
  "GET organizations/default/workspaces/:id",
  "PATCH organizations/default/workspaces/:id",
  "DELETE organizations/default/workspaces/:id",
  "GET organizations/default/workspaces?page%5Bnumber%5D=:id",
  "GET organizations/default/workspaces?page%5Bsize%5D=:id&page%5Bsize%5D=2",
  "GET organizations/default/workspaces?search%5Bname%5D=:id&sort=:id",
  "GET organizations/default/workspaces?filter%5Btagged%5D%5B0%5D%5Bkey%5D=:id",
  "GET state-versions?filter%5Borganization%5D%5Bname%5D=default&filter%5Bworkspace%5D%5Bname%5D=:id",
];

it("answers hostile ids, names and queries with what is wrong, and never as one that it did not expect", async () => {
  const { call } = await startApi("none");
  const wrong: string[] = [];
  for (const route of BY_ID) {
    const [method = "", path = ""] = route.split(" ");
    const isList = path.startsWith("organizations/default/workspaces?");
    const ask = async (value: string): Promise<void> => {
      const { status } = await call(method, `${A}/${path.replaceAll(":id", value)}`);
      if (status >= 500 || (status < 400 && !isList)) wrong.push(`${status} ${route} ${value}`);
    };
    await Promise.all(HOSTILE.map(ask));
  }
  expect(wrong).toEqual([]);
}, 60_000);

/** Bodies that are not what a route reads. */
const BODIES: readonly (string | Uint8Array<ArrayBuffer>)[] = [
  "",
  "null",
  "[]",
  "1",
  '"x"',
  "{",
  '{"data":null}',
  '{"data":[1,null,[]]}',
  '{"data":{"attributes":{"__proto__":{"name":"x"},"name":["x"]}}}',
  '{"data":{"attributes":{"name":{"toString":1},"serial":-1,"md5":5,"force":"yes"}}}',
  '{"data":{"attributes":{"name":"a\\u0000b","description":7,"auto-apply":"x"}}}',
  '{"data":{"attributes":{"name":"x"},"relationships":{"project":{"data":{"id":["a"]}},"workspace":7}}}',
  '{"data":{"relationships":{"workspace":{"data":{"id":"ws-\\u0000"}},"configuration-version":{"data":{"id":"cv-A-.."}}}}}',
  '{"data":{"relationships":{"tags":{"data":[{"attributes":{"name":"\\n"}}]}}}}',
  '{"data":{"attributes":{"name":"\\ud800"}}}',
  '{"data":{"attributes":{"key":"__proto__","category":"env","value":"\\u0000"}}}',
  '{"data":{"attributes":{"key":"a","category":"constructor","hcl":[],"sensitive":0}}}',
  '{"data":{"attributes":{"name":"x","global":{},"priority":"x"},"relationships":{"workspaces":{"data":[{"id":{}}]}}}}',
  '{"data":{"attributes":{"name":"x"},"relationships":{"__proto__":{"data":[]},"projects":{"data":[null,7]},"vars":5}}}',
  '{"data":[{"id":"ws-\\u0000"},{"id":"prj-__proto__"},{"id":["a"]}]}',
  `{"data":[${Array.from({ length: 5_000 }, () => '{"id":"ws-x"}').join(",")}]}`,
  '{"data":{"attributes":{"key":"__proto__","category":"env","value":"\\u0000"}}}',
  '{"data":{"attributes":{"key":"a","category":"constructor","hcl":[],"sensitive":0}}}',
  '{"data":{"attributes":{"name":"x","global":{},"priority":"x"},"relationships":{"workspaces":{"data":[{"id":{}}]}}}}',
  '{"data":{"attributes":{"name":"x"},"relationships":{"__proto__":{"data":[]},"projects":{"data":[null,7]},"vars":5}}}',
  '{"data":[{"id":"ws-\\u0000"},{"id":"prj-__proto__"},{"id":["a"]}]}',
  `{"data":[${Array.from({ length: 5_000 }, () => '{"id":"ws-x"}').join(",")}]}`,
  "[".repeat(100_000),
  `{"data":${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}`,
  new Uint8Array([0x7b, 0xff, 0xfe, 0x7d]),
];

it("answers hostile bodies of any type the same way, and keeps answering", async () => {
  const { server, first, call } = await startApi("none");
  const made = await call("POST", `${ORGANIZATION}/workspaces`, {
    body: { data: { attributes: { name: "demo" } } },
  });
  const { id } = made.json["data"] as { readonly id: string };
  const set = await call("POST", `${ORGANIZATION}/varsets`, {
    body: { data: { attributes: { name: "shared" } } },
  });
  const varset = `${A}/varsets/${(set.json["data"] as { readonly id: string }).id}`;
  const routes = [
    `POST ${A}/workspaces/${id}/vars`,
    `POST ${ORGANIZATION}/varsets`,
    `PATCH ${varset}`,
    `POST ${varset}/relationships/vars`,
    `POST ${varset}/relationships/workspaces`,
    `DELETE ${varset}/relationships/projects`,
    `POST ${ORGANIZATION}/workspaces`,
    `POST ${ORGANIZATION}/projects`,
    `PATCH ${A}/workspaces/${id}`,
    `POST ${A}/workspaces/${id}/state-versions`,
    `POST ${A}/workspaces/${id}/configuration-versions`,
    `PATCH ${A}/workspaces/${id}/tag-bindings`,
    `POST ${A}/workspaces/${id}/relationships/tags`,
    `POST ${A}/workspaces/${id}/actions/lock`,
    `POST ${A}/runs`,
    "POST /oauth/token",
    "POST /oauth/authorize",
  ];
  const types = ["application/vnd.api+json", "text/plain", "multipart/form-data", ";;=", undefined];
  const wrong: string[] = [];
  for (const route of routes) {
    const [method = "", path = ""] = route.split(" ");
    for (const [at, body] of BODIES.entries()) {
      const type = types[at % types.length];
      const { status } = await fetch(server.url + path, {
        method,
        body,
        headers: {
          authorization: `Bearer ${first.token}`,
          ...(type !== undefined && { "content-type": type }),
        },
      });
      if (status >= 500) wrong.push(`${status} ${route} ${at}`);
    }
  }
  expect(wrong).toEqual([]);
  const { status } = await call("GET", `${A}/workspaces/${id}`);
  expect(status).toBe(200);
}, 60_000);

/** How many bytes of a body that never ends a server takes until it closes the connection, and what it answered. */
async function endless(url: string, path: string, headers: readonly string[]) {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  const closed = new Promise<void>((resolve, reject) => {
    socket.setTimeout(20_000, () => socket.destroy(new Error("the connection stays open")));
    // What is left of the answer is lost where the server closes a connection that still sends.
    socket.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "ECONNRESET" && error.code !== "EPIPE") reject(error);
    });
    socket.on("close", () => resolve());
  });
  let answer = "";
  socket.on("data", (chunk) => (answer += String(chunk)));
  const head = [`POST ${path} HTTP/1.1`, `host: ${hostname}:${port}`, ...headers];
  socket.write(`${head.join("\r\n")}\r\n\r\n`);
  const chunk = Buffer.alloc(65_536, 0x20);
  const send = (): void => {
    if (!socket.destroyed) socket.write(chunk, () => setImmediate(send));
  };
  send();
  await closed;
  return { status: answer.split(" ")[1] ?? "", megabytes: socket.bytesWritten / 1024 ** 2 };
}

it("reads no body of who has no token, and no more than a bound of others", async () => {
  const { server, first } = await startApi("none");
  const size = `content-length: ${64 * 1024 ** 3}`;
  const signature = "SDK-HMAC-SHA256 Access=a, SignedHeaders=host, Signature=b";
  const attacks: readonly (readonly [path: string, header: string, statuses: RegExp])[] = [
    [`${A}/runs`, "x-none: 1", /^(?:401)?$/],
    [`${A}/runs`, `authorization: Bearer ${first.token}`, /^(?:413)?$/],
    ["/oauth/token", "x-none: 1", /^(?:413)?$/],
    ["/oauth/none", "x-none: 1", /^(?:404|413)?$/],
    ["/none", "x-none: 1", /^(?:404|413)?$/],
    ["/api/v1/projects/web/stacks", "x-none: 1", /^(?:401)?$/],
    ["/api/v1/device/code", "x-none: 1", /^(?:4..)?$/],
    ["/state/v1/default/web/one", "x-none: 1", /^(?:401)?$/],
    ["/v1/private-providers", "x-none: 1", /^(?:401|413)?$/],
    ["/v1/web/stacks", "x-auth-token: none", /^(?:401)?$/],
    ["/v1/web/stacks", `authorization: ${signature}`, /^(?:401|413)?$/],
  ];
  for (const [path, header, statuses] of attacks) {
    const { status, megabytes } = await endless(server.url, path, [size, header]);
    expect([path, header, status]).toEqual([path, header, expect.stringMatching(statuses)]);
    // The bound of the largest body, and what lies in buffers on the way.
    expect(megabytes).toBeLessThan(32);
  }
}, 60_000);
