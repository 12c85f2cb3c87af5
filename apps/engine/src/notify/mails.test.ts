import { type AddressInfo, createServer, type LookupFunction } from "node:net";
import { NotificationDestination, NotificationEvent } from "@stackwright/proto/stackwright";
import { expect, it, onTestFinished } from "vitest";
import { P, S, startApi } from "../testing/start-api.ts";
import { startMailServer } from "../testing/start-mail-server.ts";
import { parseMailServer } from "./mail-server.ts";
import { sendMail } from "./send-mail.ts";

const ALL = `${P}/notifications`;
const ANY = { "if-match": "*" };
const MAIL = { name: "mail", kind: "email", from: "stackwright@example.com" };

async function start(executor: "in-process" | "none" = "none") {
  const mails = await startMailServer();
  const api = await startApi(executor, { notificationHosts: ["localhost", "127.0.0.1"] });
  const { call } = api;
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const create = async (body: object = {}) =>
    call("POST", ALL, { body: { ...MAIL, to: ["ops@example.com"], ...body } });
  const test = async (name = "mail") => (await call("POST", `${ALL}/${name}/test`)).json;
  return { ...api, mails, create, test };
}

it("a run that needs approval is mailed over TLS with what a webhook gets, to all recipients that the server takes", {
  timeout: 90_000,
}, async () => {
  const { mails, create, upload, call, server } = await start("in-process");
  const url = `smtps://${mails.credentials}localhost:${mails.port}`;
  const to = ["ops@example.com", "refused@example.com", "dev@example.com", "ops@example.com"];
  const made = await create({ url, to });
  expect(made.status, made.text).toBe(201);
  expect(made.json).toMatchObject({
    url: `smtps://localhost:${mails.port}`,
    from: "stackwright@example.com",
    to: ["ops@example.com", "refused@example.com", "dev@example.com"],
  });
  expect(made.json).not.toHaveProperty("secret");

  const { digest } = (await upload()).json;
  const body = { configuration: digest, message: "canary-of-a-message" };
  const id = String((await call("POST", `${S}/runs`, { body })).json["id"]);
  const deliveries = async () => (await call("GET", `${ALL}/mail/deliveries`)).json["deliveries"];
  await expect.poll(deliveries, { timeout: 60_000 }).toMatchObject([
    {
      event: "run.needs_approval",
      state: "delivered",
      status: 250,
      problem: "the server refused refused@example.com",
    },
  ]);
  const [mail] = mails.received;
  expect(mail).toMatchObject({
    from: "stackwright@example.com",
    to: ["ops@example.com", "dev@example.com"],
    isEncrypted: true,
  });
  const text = mail?.text.replaceAll("=\r\n", "") ?? "";
  expect(text).toMatch(/^Subject: Run #1 of web\/one has a plan that waits for approval\r$/m);
  expect(text).toContain(`${server.url}/console/p/web/s/one/r/${id}`);
  expect(text).toMatch(/^Message-ID: <[0-9A-Z]{26}@127\.0\.0\.1>\r$/m);
  expect(text).not.toMatch(/canary/);
  expect((await call("GET", ALL)).text).not.toMatch(/canary|relay/);
});

it("a recipient that is refused for the moment is tried again, alone, and holds up no other mail", {
  timeout: 120_000,
}, async () => {
  const { mails, create, upload, call } = await start("in-process");
  const url = `smtps://${mails.credentials}localhost:${mails.port}`;
  const to = ["ops@example.com", "later@example.com", "refused@example.com"];
  expect((await create({ url, to })).status).toBe(201);
  const { digest } = (await upload()).json;
  const request = async () =>
    (await call("POST", `${S}/runs`, { body: { configuration: digest } })).status;
  expect(await request()).toBe(201);
  const deliveries = async () => (await call("GET", `${ALL}/mail/deliveries`)).json["deliveries"];
  await expect.poll(deliveries, { timeout: 60_000 }).toMatchObject([
    {
      event: "run.needs_approval",
      state: "delivered",
      attempts: 2,
      problem: "the server refused refused@example.com",
    },
  ]);
  expect(mails.received.map((mail) => mail.to)).toEqual([
    ["ops@example.com"],
    ["later@example.com"],
  ]);
  const ids = mails.received.map(({ text }) => /^Message-ID: .*$/m.exec(text)?.[0]);
  expect(ids[0]).toBe(ids[1]);
});

it("a recipient that was taken from a destination gets no mail that still waits for it", {
  timeout: 120_000,
}, async () => {
  const mails = await startMailServer({
    onRcptTo: ({ address }, _session, done) => {
      const busy = Object.assign(new Error("try again in a moment"), { responseCode: 451 });
      done(address === "left@example.com" ? busy : null);
    },
  });
  const { call, upload } = await startApi("in-process", { notificationHosts: ["localhost"] });
  await call("POST", `${P}/stacks`, { body: { name: "one" } });
  const url = `smtps://${mails.credentials}localhost:${mails.port}`;
  const to = ["ops@example.com", "left@example.com"];
  expect((await call("POST", ALL, { body: { ...MAIL, url, to } })).status).toBe(201);
  const { digest } = (await upload()).json;
  await call("POST", `${S}/runs`, { body: { configuration: digest } });
  await expect.poll(() => mails.received.length, { timeout: 60_000 }).toBe(1);
  const body = { to: ["Ops@example.com"] };
  expect((await call("PATCH", `${ALL}/mail`, { body, headers: ANY })).status).toBe(200);
  const deliveries = async () => (await call("GET", `${ALL}/mail/deliveries`)).json["deliveries"];
  // Without an end it would be asked for left@example.com for hours.
  await expect.poll(deliveries, { timeout: 60_000 }).toMatchObject([{ state: "delivered" }]);
  expect(mails.received.map((mail) => mail.to)).toEqual([["ops@example.com"]]);
});

it("a wrong password is not repeated in what the server said", {
  timeout: 60_000,
}, async () => {
  const { mails, create, test, call } = await start();
  await create({ url: `smtps://relay:wrong-canary@localhost:${mails.port}` });
  const refused = await test();
  expect(refused, JSON.stringify(refused)).toMatchObject({ state: "dead", status: 535 });
  expect(refused["problem"]).toMatch(/no account has the password …$/);
  // A certificate for another name.
  const other = { url: `smtps://${mails.credentials}127.0.0.1:${mails.port}` };
  expect((await call("PATCH", `${ALL}/mail`, { body: other, headers: ANY })).status).toBe(200);
  expect(await test()).toMatchObject({ state: "dead", problem: expect.stringMatching(/altnames/) });
  const url = `smtps://${mails.credentials}localhost:${mails.port}`;
  await call("PATCH", `${ALL}/mail`, { body: { url, to: ["dev@example.com"] }, headers: ANY });
  expect(await test()).toMatchObject({ state: "delivered", status: 250 });
  expect(mails.received).toMatchObject([{ to: ["dev@example.com"], isEncrypted: true }]);
});

it("outside this machine nothing is sent without TLS, also where the server begins without it", {
  timeout: 60_000,
}, async () => {
  const name = "mail.test";
  const lookup: LookupFunction = (_host, _options, done) =>
    done(null, [{ address: "127.0.0.1", family: 4 }]);
  const send = async (port: number, credentials: string) =>
    sendMail(
      { lookup: () => lookup },
      {
        destination: NotificationDestination.create({
          sender: "a@example.com",
          recipients: ["b@example.com"],
        }),
        address: `smtp://${credentials}${name}:${port}`,
        facts: {
          project: { account: "default", project: "web" },
          event: NotificationEvent.create({ id: "01", event: "test" }),
          stackName: "",
          origin: "https://stackwright.example.com",
        },
      },
      new AbortController().signal,
    );
  const later = await startMailServer({ secure: false }, name);
  expect(await send(later.port, later.credentials)).toMatchObject({ isDelivered: true });
  expect(later.received).toMatchObject([{ isEncrypted: true }]);
  const clear = { secure: false, disabledCommands: ["STARTTLS"], allowInsecureAuth: true };
  const never = await startMailServer(clear, name);
  expect(await send(never.port, never.credentials)).toMatchObject({
    isDelivered: false,
    problem: expect.stringContaining("STARTTLS"),
  });
  expect(never.received).toEqual([]);
});

it("a server that says no end of things, or hangs up, is an attempt that failed", {
  timeout: 60_000,
}, async () => {
  const { create, test } = await start();
  const chatter = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.write(`220 ${"x".repeat(100_000)}`);
  });
  const silent = createServer((socket) => socket.end());
  for (const [name, server] of Object.entries({ chatter, silent })) {
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    expect((await create({ name, url: `smtp://127.0.0.1:${port}` })).status).toBe(201);
    expect(await test(name)).toMatchObject({ state: "dead", problem: expect.any(String) });
  }
});

it("addresses of mail servers that say too much, too little, or lead into a private network are refused", {
  timeout: 60_000,
}, async () => {
  const { create, call } = await start();
  const url = "smtps://mail.example.com";
  for (const [body, message] of [
    [{ url: "https://mail.example.com" }, "smtps://USER:PASSWORD@mail.example.com"],
    [{ url: "smtps://" }, "the address"],
    [{ url: `${url}/?from=x` }, "ends with its host and port"],
    [{ url: "smtps://user@mail.example.com" }, "a user and a password, or neither"],
    [{ url: "smtps://10.1.2.3" }, "--notification-host 10.1.2.3"],
    [{ url: "smtps://0x0a010203" }, "--notification-host 10.1.2.3"],
    [{ url: "smtp://[::1]:25" }, "private network"],
    [{ url, to: undefined }, "needs from and to"],
    [{ url, from: undefined }, "needs from and to"],
    [{ url, to: ["a@example.com\r\nBcc: b@example.com"] }, "to"],
    [{ url, to: ["a@example.com, b@example.com"] }, "to"],
    [{ url, to: [] }, "to"],
    [{ url, to: ["a\0@example.com"] }, "to"],
    [{ url, from: "Ops <a@example.com>" }, "from"],
    [{ url, secret: "whsec_x" }, "no secret"],
    [{ url: "https://example.com", kind: "webhook" }, "only a destination of the kind email"],
  ] as const) {
    const refused = await create(body);
    expect([refused.status >= 400, refused.text]).toEqual([true, expect.stringContaining(message)]);
  }
  expect((await call("GET", ALL)).json["destinations"]).toEqual([]);
});

it("a server in a network is called with TLS from the first byte, or before anything else", () => {
  expect(parseMailServer("smtps://a%40b:c%2Fd@mail.example.com")).toEqual({
    host: "mail.example.com",
    port: 465,
    tls: "always",
    username: "a@b",
    password: "c/d",
  });
  expect(parseMailServer("smtp://mail.example.com").tls).toBe("first");
  expect(parseMailServer("smtp://mail.example.com")).toMatchObject({ port: 587, username: "" });
  expect(parseMailServer("smtp://localhost:2525").tls).toBe("never");
});
