import { createServer, type RequestListener, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import { createSelfSignedIdentity } from "@stackwright/proto/grpc";
import { afterEach, describe, expect, it } from "vitest";
import type { AuditEvent } from "../audit.ts";
import { requireFunctionUrn } from "./function-urn.ts";
import { FunctionTargetTable, type TargetTableOptions } from "./target-table.ts";

const project = "a61dfe3154de42829367056598d5040f";
const urn = `urn:fss:cn-north-7:${project}:function:default:test:latest`;
const timeouts = { connectMs: 500, firstByteMs: 2000, totalMs: 3000 };
const call = { timeouts, fresh: true };

const cleanup: AsyncDisposable[] = [];
afterEach(async () => {
  for (const one of cleanup.splice(0)) await one[Symbol.asyncDispose]();
});

async function serve(listener: RequestListener): Promise<string> {
  const server: Server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanup.push(server);
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function table(options: TargetTableOptions): { table: FunctionTargetTable; audit: AuditEvent[] } {
  const audit: AuditEvent[] = [];
  const made = new FunctionTargetTable({ ...options, onAudit: (event) => audit.push(event) });
  cleanup.push(made);
  return { table: made, audit };
}

describe("URNs of functions", () => {
  it("have eight parts", () => {
    expect(requireFunctionUrn(urn)).toMatchObject({ region: "cn-north-7", project, name: "test" });
    expect(requireFunctionUrn(urn.replace("latest", "!prod")).qualifier).toBe("!prod");
  });

  it.each([
    "",
    "urn",
    `${urn}:more`,
    urn.replace(":latest", ""),
    urn.replace("cn-north-7", "cn-north-7:x:cn-north-4"),
    urn.replace("cn-north-7", "CN-NORTH-7"),
    urn.replace("cn-north-7", "evil.example/"),
    urn.replace("cn-north-7", ".."),
    urn.replace(project, "../../x"),
    urn.replace(project, "a%2fb"),
    urn.replace("default", "other"),
    urn.replace("test", "te/st"),
    urn.replace("test", "t"),
    urn.replace("latest", "!!x"),
    urn.replace("latest", "a?b"),
    `${urn}\n`,
    ` ${urn}`,
  ])("are not %j", (text) => {
    expect(() => requireFunctionUrn(text)).toThrow(
      expect.objectContaining({ code: "FG_URN_INVALID" }),
    );
  });
});

describe("the table of targets", () => {
  it("selects by the whole URN, then by region", async () => {
    const { table: targets } = table({
      functions: { [urn]: { url: "https://fn.example.com" } },
      regions: {
        "cn-north-7": {
          endpoint: "https://fg.example.com",
          credentials: { accessKey: "a", secretKey: "b" },
        },
      },
    });
    const scope = { projects: [project] };
    expect(targets.resolve(urn, scope).key).toBe("https://fn.example.com");
    const other = urn.replace("test", "other");
    expect(targets.resolve(other, scope).key).toBe(other);
  });

  it("refuses functions of others, of other regions, and unknown ones, and keeps a record", () => {
    const { table: targets, audit } = table({
      functions: { [urn]: { url: "https://fn.example" } },
    });
    const refused = (text: string, scope: { projects: string[]; region?: string }) => {
      try {
        targets.resolve(text, scope);
      } catch (error) {
        return (error as { code: string }).code;
      }
      return "accepted";
    };
    expect(refused(urn, { projects: [] })).toBe("FG_FORBIDDEN");
    expect(refused(urn, { projects: [project.toUpperCase()] })).toBe("FG_FORBIDDEN");
    expect(refused(urn, { projects: [project], region: "cn-north-4" })).toBe("FG_FORBIDDEN");
    expect(refused(urn.replace("test", "none"), { projects: [project] })).toBe("FG_TARGET_UNKNOWN");
    expect(refused("urn:x", { projects: [project] })).toBe("FG_URN_INVALID");
    expect(audit).toHaveLength(5);
    expect(audit.every(({ kind }) => kind === "target-refused")).toBe(true);
  });

  it.each([
    "ftp://x.example",
    "https://user@x.example",
    "https://:secret@x.example",
    "https://x.example/other",
    "https://x.example/?a=1",
    "not a url",
  ])("does not take %s for a target", (url) => {
    expect(() => new FunctionTargetTable({ functions: { [urn]: { url } } })).toThrow(
      expect.objectContaining({ code: "FG_OPTIONS_INVALID" }),
    );
  });

  it("never quotes a password of a wrong URL", () => {
    try {
      void new FunctionTargetTable({
        functions: { [urn]: { url: "https://me:hunter2@x.example" } },
      });
    } catch (error) {
      expect(String(error)).not.toContain("hunter2");
    }
  });
});

describe("a target at a URL", () => {
  const resolve = (url: string, options: TargetTableOptions = {}) => {
    const made = table({
      functions: { [urn]: { url } },
      guard: { allow: ["127.0.0.0/8"] },
      ...options,
    });
    return { target: made.table.resolve(urn, { projects: [project] }), audit: made.audit };
  };

  it("posts the envelope to /provider and returns the body", async () => {
    const seen: unknown[] = [];
    const url = await serve((request, response) => {
      seen.push(request.method, request.url, request.headers["content-type"]);
      request.pipe(response);
    });
    const { target } = resolve(url);
    const answer = await target.invoke(Buffer.from("hello"), call);
    expect(Buffer.from(answer).toString()).toBe("hello");
    expect(seen).toEqual(["POST", "/provider", "application/json"]);
  });

  it.each([
    [301, "FG_REDIRECT_REFUSED", "unknown"],
    [307, "FG_REDIRECT_REFUSED", "unknown"],
    [400, "FG_FUNCTION_STATUS", "unknown"],
    [401, "FG_UNAUTHORIZED", "not-applied"],
    [404, "FG_FUNCTION_NOT_FOUND", "not-applied"],
    [408, "FG_TIMEOUT", "unknown"],
    [413, "FG_REQUEST_TOO_LARGE", "not-applied"],
    [429, "FG_THROTTLED", "not-applied"],
    [500, "FG_FUNCTION_STATUS", "unknown"],
    [503, "FG_FUNCTION_STATUS", "unknown"],
    [504, "FG_TIMEOUT", "unknown"],
    [201, "FG_FUNCTION_STATUS", "unknown"],
    [204, "FG_FUNCTION_STATUS", "unknown"],
  ])("takes status %i for %s, outcome %s", async (status, code, outcome) => {
    let followed = 0;
    const url = await serve((request, response) => {
      if (request.url !== "/provider") followed++;
      response.writeHead(status, { location: "/elsewhere" }).end();
    });
    await expect(resolve(url).target.invoke(Buffer.from("x"), call)).rejects.toMatchObject({
      code,
      outcome,
    });
    expect(followed).toBe(0);
  });

  it("believes the platform and the function side when they say that nothing began", async () => {
    const bodies = [
      '{"error_code":"FSS.0503","error_msg":"busy"}',
      '{"response_data":"","error":"starting","outcome":"not-applied"}',
    ];
    const url = await serve((_request, response) => response.writeHead(503).end(bodies.shift()));
    const { target } = resolve(url);
    for (const text of ["busy", "starting"]) {
      await expect(target.invoke(Buffer.from("x"), call)).rejects.toMatchObject({
        outcome: "not-applied",
        message: expect.stringContaining(text) as string,
      });
    }
  });

  it("says not-applied when no connection was made", async () => {
    const url = await serve(() => undefined);
    await cleanup.pop()?.[Symbol.asyncDispose]();
    await expect(resolve(url).target.invoke(Buffer.from("x"), call)).rejects.toMatchObject({
      code: "FG_UNREACHABLE",
      outcome: "not-applied",
    });
  });

  it.each<[string, RequestListener, string]>([
    [
      "the connection is cut before an answer",
      (request) => void request.socket.destroy(),
      "FG_CONNECTION_LOST",
    ],
    [
      "the connection is cut within the answer",
      (request, response) => {
        response.writeHead(200, { "content-length": "100" });
        response.write("half");
        setTimeout(() => request.socket.destroy(), 20);
      },
      "FG_CONNECTION_LOST",
    ],
    [
      "a chunked answer has no end",
      (request, response) => {
        response.writeHead(200);
        response.write("half");
        setTimeout(() => request.socket.destroy(), 20);
      },
      "FG_CONNECTION_LOST",
    ],
    ["there is no answer", () => undefined, "FG_TIMEOUT"],
    [
      "the answer does not end",
      (_request, response) => {
        response.writeHead(200);
        const drip = setInterval(() => response.write("."), 50);
        response.on("close", () => clearInterval(drip));
      },
      "FG_TIMEOUT",
    ],
  ])("leaves the outcome open when %s", async (_name, listener, code) => {
    const url = await serve(listener);
    const short = { timeouts: { connectMs: 200, firstByteMs: 250, totalMs: 400 }, fresh: true };
    await expect(resolve(url).target.invoke(Buffer.from("x"), short)).rejects.toMatchObject({
      code,
      outcome: "unknown",
    });
  });

  it("reads no more of an answer than is allowed", async () => {
    const chunk = Buffer.alloc(1024 * 1024);
    for (const announce of [true, false]) {
      let sent = 0;
      const url = await serve((_request, response) => {
        response.writeHead(200, announce ? { "content-length": 10 * 1024 ** 3 } : {});
        const more = () => {
          if (response.destroyed || sent > 200 * chunk.length) return;
          sent += chunk.length;
          response.write(chunk, more);
        };
        more();
      });
      await expect(resolve(url).target.invoke(Buffer.from("x"), call)).rejects.toMatchObject({
        code: "FG_RESPONSE_TOO_LARGE",
      });
      expect(sent).toBeLessThan(100 * chunk.length);
    }
  });

  it("ends the wait with the reason of the signal", async () => {
    const url = await serve(() => undefined);
    const stop = new AbortController();
    const waiting = resolve(url).target.invoke(Buffer.from("x"), { ...call, signal: stop.signal });
    setTimeout(() => stop.abort(new Error("enough")), 30);
    await expect(waiting).rejects.toThrow("enough");
  });

  it("does not reach addresses that are not allowed, however they are written", async () => {
    const url = await serve((_request, response) => response.end("reached"));
    const { port } = new URL(url);
    for (const host of [
      "127.0.0.1",
      "2130706433",
      "0x7f000001",
      "017700000001",
      "127.1",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::1]",
      "localhost",
      "0.0.0.0",
      "127.0.0.1.",
      "①②⑦.0.0.1",
    ]) {
      for (const scheme of ["http", "https"]) {
        const { target, audit } = resolve(`${scheme}://${host}:${port}`, { guard: {} });
        const failure = await target
          .invoke(Buffer.from("x"), call)
          .catch((error: unknown) => error);
        expect(failure, host).toMatchObject({ outcome: "not-applied" });
        expect((failure as { code: string }).code, host).toMatch(
          /FG_ADDRESS_REFUSED|FG_UNREACHABLE/,
        );
        if ((failure as { code: string }).code === "FG_ADDRESS_REFUSED") {
          expect(audit).toHaveLength(1);
        }
      }
    }
  });

  it("verifies certificates, and shows its own", async () => {
    const identity = createSelfSignedIdentity({ name: "localhost" });
    const client = createSelfSignedIdentity({ name: "localhost" });
    const seen: boolean[] = [];
    const server = createHttpsServer(
      {
        cert: String(identity.certificate),
        key: String(identity.privateKey),
        ca: String(client.certificate),
        requestCert: true,
        rejectUnauthorized: false,
      },
      (request, response) => {
        seen.push((request.socket as TLSSocket).authorized);
        response.end("secret");
      },
    );
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    cleanup.push(server);
    const url = `https://localhost:${(server.address() as AddressInfo).port}`;
    const guard = { allow: ["127.0.0.0/8", "::1/128"] };
    const failure = await resolve(url, { guard })
      .target.invoke(Buffer.from("x"), call)
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "FG_UNREACHABLE", outcome: "not-applied" });
    expect(seen).toEqual([]);

    const tls = { ca: String(identity.certificate) };
    const answer = await resolve(url, { guard, tls }).target.invoke(Buffer.from("x"), call);
    expect(Buffer.from(answer).toString()).toBe("secret");
    const both = { ...tls, cert: String(client.certificate), key: String(client.privateKey) };
    await resolve(url, { guard, tls: both }).target.invoke(Buffer.from("x"), call);
    expect(seen).toEqual([false, true]);
    // A certificate for another name is none.
    const other = url.replace("localhost", "127.0.0.1");
    await expect(
      resolve(other, { guard, tls }).target.invoke(Buffer.from("x"), call),
    ).rejects.toMatchObject({ code: "FG_UNREACHABLE" });
  });

  it("connects to the address that was checked, not to one that a name gets later", async () => {
    const url = await serve((_request, response) => response.end("reached"));
    const { port } = new URL(url);
    const answers = ["127.0.0.2", "127.0.0.1"];
    const lookups: string[] = [];
    const { target, audit } = resolve(`https://rebinding.example:${port}`, {
      guard: {
        allow: ["127.0.0.2/32"],
        resolver: async (host) => {
          lookups.push(host);
          return [{ address: answers.shift() ?? "127.0.0.1", family: 4 }];
        },
      },
    });
    const short = { timeouts: { connectMs: 200, firstByteMs: 200, totalMs: 200 }, fresh: true };
    await expect(target.invoke(Buffer.from("x"), short)).rejects.toMatchObject({
      outcome: "not-applied",
    });
    expect(lookups).toEqual(["rebinding.example"]);
    await expect(target.invoke(Buffer.from("x"), short)).rejects.toMatchObject({
      code: "FG_ADDRESS_REFUSED",
    });
    expect(audit).toMatchObject([{ code: "FG_ADDRESS_REFUSED", subject: "rebinding.example" }]);
  });
});
