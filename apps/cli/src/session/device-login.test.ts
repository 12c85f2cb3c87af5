import { PassThrough } from "node:stream";
import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { createContext } from "../command-context.ts";
import { loginByDevice } from "./device-login.ts";

const HOST = { address: "https://one.example.com", name: "one.example.com" };
const SERVICES = { "device.v1": { client: "c", code: "/d/code", token: "/d/token" } };
const ASKED = {
  device_code: "the-device-code",
  user_code: "BCDFG-HJKLM",
  verification_uri: "https://one.example.com/d",
  expires_in: 600,
  interval: 5,
};

type Step = readonly [status: number, json: unknown];

/** A command that logs in with a host which gives these answers, one after the other. */
function begin(
  steps: readonly Step[],
  {
    services = SERVICES,
    asked = [200, ASKED] as Step,
    role = undefined as string | undefined,
  } = {},
) {
  const clock = createManualClock();
  const stop = new AbortController();
  const { signal } = stop;
  const streams = {
    input: new PassThrough(),
    output: new PassThrough(),
    error: new PassThrough(),
    env: {},
  };
  let warned = "";
  streams.error.on("data", (chunk: Buffer) => {
    warned += chunk.toString();
  });
  let shown = "";
  streams.output.on("data", (chunk: Buffer) => {
    shown += chunk.toString();
  });
  const context = createContext({ streams, cwd: "/", signal, forceSignal: signal }, {});
  const sent: { readonly path: string; readonly atMs: number; readonly form: object }[] = [];
  const left = [...steps];
  const fetch = async (url: URL, init?: RequestInit): Promise<Response> => {
    if (url.pathname.startsWith("/.well-known/")) return Response.json(services);
    const form = Object.fromEntries(init?.body as URLSearchParams);
    sent.push({ path: url.href, atMs: clock.monotonicMs(), form });
    const [status, json] = url.pathname === "/d/code" ? asked : (left.shift() ?? [500, {}]);
    if (status === 0) throw new TypeError("fetch failed");
    return Response.json(json, { status });
  };
  const token = loginByDevice(HOST, context, { clock, fetch, role }).catch((error: unknown) =>
    error instanceof Error ? error.message : "",
  );
  /** Advances the clock until the login has ended. */
  const end = async (): Promise<string> => {
    const ended: string[] = [];
    void (async () => ended.push(await token))();
    for (let i = 0; i < 2_000 && ended.length === 0; i += 1) await clock.advance(1_000);
    return ended[0] ?? "it waits";
  };
  return { end, sent, shown: () => shown, warned: () => warned, stop };
}

it("shows the address and the code, asks in the pace that it is given, and gets the token", async () => {
  const { end, sent, shown, warned } = begin(
    [
      [400, { error: "authorization_pending" }],
      [400, { error: "slow_down" }],
      [0, {}],
      [502, "no JSON object"],
      [400, { error: "authorization_pending" }],
      [200, { access_token: "sw_token", token_type: "bearer" }],
    ],
    { role: "planner" },
  );
  expect(await end()).toBe("sw_token");
  expect(shown()).toContain("https://one.example.com/d\n  BCDFG-HJKLM\n");
  expect(shown()).not.toContain("the-device-code");
  expect(warned()).toBe("");
  expect(sent[0]).toMatchObject({
    path: "https://one.example.com/d/code",
    form: { client_id: "c", scope: "planner", host: expect.any(String) },
  });
  expect(sent[1]).toMatchObject({
    path: "https://one.example.com/d/token",
    form: {
      client_id: "c",
      device_code: "the-device-code",
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
    },
  });
  const times = sent.map(({ atMs }) => atMs / 1_000);
  const pauses = times.slice(1).map((at, index) => at - (times[index] ?? 0));
  expect(pauses.map((pause) => Math.round(pause))).toEqual([5, 5, 10, 15, 20, 20]);
});

it("ends where the user refuses, or the code is over, or the host does not know it", async () => {
  expect(await begin([[400, { error: "access_denied" }]]).end()).toContain("refused");
  expect(await begin([[400, { error: "expired_token" }]]).end()).toContain("code is over");
  expect(await begin([[400, { error: "invalid_grant" }]]).end()).toContain("code is over");
  expect(await begin([[400, { error: "other" }]]).end()).toContain("status 400");
  expect(await begin([[200, {}]]).end()).toContain("status 200");
  // A host that is away for good is not asked forever.
  const away = begin([]);
  expect(await away.end()).toContain("code is over");
  expect(away.sent.at(-1)?.atMs).toBeLessThan(600_000);
});

it("ends where the host does not offer it, or answers with something else", async () => {
  const none = { services: {} as typeof SERVICES };
  expect(await begin([], none).end()).toContain("does not offer a login with a code");
  const answers: readonly (readonly [Step, string])[] = [
    [[429, { error: "slow_down" }], "too many logins"],
    [[400, { error: "invalid_scope" }], "does not know the role"],
    [[404, "none"], "status 404"],
    [[200, { ...ASKED, user_code: "\u001b[2J" }], "status 200"],
    [[200, { ...ASKED, verification_uri: "javascript:alert(1)" }], "status 200"],
    [
      [200, { ...ASKED, verification_uri: "https://one.example.com@two.example.com/d" }],
      "status 200",
    ],
    [
      [200, { ...ASKED, verification_uri: `https://one.example.com/${"d".repeat(500)}` }],
      "status 200",
    ],
  ];
  for (const [asked, text] of answers) expect(await begin([], { asked }).end()).toContain(text);
});

it("asks no other host, and warns where the page is that of another one", async () => {
  for (const other of [
    { code: "http://127.0.0.1/d/code" },
    { code: "//two.example.com/d/code" },
    { token: "http://one.example.com/d/token" },
    { token: "https://[" },
  ]) {
    const services = { "device.v1": { ...SERVICES["device.v1"], ...other } };
    const { end, sent } = begin([[200, { access_token: "t" }]], { services });
    expect(await end()).toContain("is not at https://one.example.com");
    expect(sent).toEqual([]);
  }
  const asked: Step = [200, { ...ASKED, verification_uri: "https://two.example.com/d" }];
  const { end, warned } = begin([[200, { access_token: "t" }]], { asked });
  expect(await end()).toBe("t");
  expect(warned()).toContain("not one of one.example.com, which gets the token");
});

it("ends at once where the user stops it", async () => {
  const { end, stop } = begin([[400, { error: "authorization_pending" }]]);
  stop.abort(new Error("stopped"));
  expect(await end()).toBe("stopped");
});
