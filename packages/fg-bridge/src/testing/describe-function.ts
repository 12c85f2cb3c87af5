import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { METHODS } from "../envelope/methods.ts";
import { encodeRequest } from "../envelope/request.ts";
import { parseResponse } from "../envelope/response.ts";
import { malformedRequests } from "./malformed-requests.ts";

export interface FunctionContract {
  /** Where the function is reached; the path is `/provider`. */
  readonly url: string;
  /** Sent with every request, for functions that ask who calls. */
  readonly headers?: (body: Uint8Array) => Readonly<Record<string, string>>;
  /** A `Configure.Request` that the provider accepts. @default an empty configuration */
  readonly configData?: Uint8Array;
  /** How long one request may take, in milliseconds. @default 30_000 */
  readonly timeoutMs?: number;
}

/**
 * Registers tests of a function against the contract, for whoever writes one: envelope, status, the 13 methods, and
 * everything malformed. The provider is asked for nothing but its schema and its configuration.
 *
 * `connect` is called for each test.
 *
 * Source: seed 003, rules 1 to 3.
 */
export function describeFunction(
  name: string,
  connect: () => Promise<FunctionContract & Partial<AsyncDisposable>>,
): void {
  describe(name, () => {
    it("answers GetSchema with status 200, response data and no error", async () => {
      await using function_ = await open(connect);
      const { status, body } = await function_.ask("/tfplugin5.Provider/GetSchema");
      expect(status).toBe(200);
      const { error, responseData } = parseResponse(body);
      expect(error).toBe("");
      expect(responseData.length).toBeGreaterThan(0);
    });

    it("answers a request of the contract with the members of the contract alone", async () => {
      await using function_ = await open(connect);
      for (const path of ["/tfplugin5.Provider/GetSchema", "/tfplugin5.Provider/GetMetadata"]) {
        const { body } = await function_.ask(path);
        const members = Object.keys(JSON.parse(Buffer.from(body).toString()) as object);
        expect(members.filter((name) => name !== "response_data" && name !== "error")).toEqual([]);
      }
    });

    it("answers the same question in the same way in another session, and in none", async () => {
      await using function_ = await open(connect);
      const sizes = new Set<number>();
      for (const sessionId of [randomUUID(), randomUUID(), ""]) {
        const { body } = await function_.ask("/tfplugin5.Provider/GetSchema", { sessionId });
        sizes.add(parseResponse(body).responseData.length);
      }
      expect(sizes.size).toBe(1);
    });

    it("configures the provider, by itself and before another method", async () => {
      await using function_ = await open(connect);
      const configData = function_.configData ?? new Uint8Array();
      const alone = await function_.ask("/tfplugin5.Provider/Configure", {
        requestData: configData,
      });
      expect(alone.status).toBe(200);
      expect(parseResponse(alone.body).error).toBe("");
      if (configData.length === 0) return;
      const first = await function_.ask("/tfplugin5.Provider/GetSchema", { configData });
      expect(first.status).toBe(200);
      expect(parseResponse(first.body).error).toBe("");
    });

    it("takes Stop and Shutdown, although there may be nothing to stop", async () => {
      await using function_ = await open(connect);
      for (const path of ["/tfplugin5.Provider/Stop", "/plugin.GRPCController/Shutdown"]) {
        const { status, body } = await function_.ask(path);
        expect([path, status]).toEqual([path, 200]);
        expect(parseResponse(body).error).toBe("");
      }
      // And it goes on after that.
      expect((await function_.ask("/tfplugin5.Provider/GetSchema")).status).toBe(200);
    });

    it("ignores members that it does not know", async () => {
      await using function_ = await open(connect);
      const body = {
        method_name: "/tfplugin5.Provider/GetSchema",
        request_data: "",
        context: { session_id: "s", config_data: "", later: { version: 3 } },
        later: [1, 2, 3],
      };
      const { status } = await function_.post(Buffer.from(JSON.stringify(body)));
      expect(status).toBe(200);
    });

    it.each([
      "/tfplugin5.Provider/GetMetadata",
      "/tfplugin5.Provider/GetProviderSchema",
      "/tfplugin6.Provider/GetProviderSchema",
      "/tfplugin5.Provider/getschema",
      "/tfplugin5.Provider/GetSchema ",
      "tfplugin5.Provider/GetSchema",
      "/plugin.GRPCBroker/StartStream",
      "",
    ])("refuses the method %j", async (path) => {
      await using function_ = await open(connect);
      expectFailure(await function_.ask(path));
    });

    it.each(METHODS.filter(({ name }) => /^(Read|Plan|Apply|Import)/.test(name)))(
      "answers $name that is no message with an error, and continues",
      async ({ path }) => {
        await using function_ = await open(connect);
        expectFailure(await function_.ask(path, { requestData: Buffer.from([0xff, 0xff, 0xff]) }));
        expect((await function_.ask("/tfplugin5.Provider/GetSchema")).status).toBe(200);
      },
    );

    it.each(malformedRequests)("refuses $name", async ({ body }) => {
      await using function_ = await open(connect);
      expectFailure(await function_.post(body));
    });

    it("has one path and one method", async () => {
      await using function_ = await open(connect);
      const { origin } = new URL(function_.url);
      expect((await fetch(`${origin}/provider`)).status).not.toBe(200);
      const other = await fetch(`${origin}/other`, { method: "POST", body: "{}" });
      expect(other.status).not.toBe(200);
    });
  });
}

interface Answer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Another status, or an error: both are failures to a caller. */
function expectFailure({ status, body }: Answer): void {
  if (status !== 200) return;
  expect(parseResponse(body).error).not.toBe("");
}

async function open(connect: () => Promise<FunctionContract & Partial<AsyncDisposable>>) {
  const contract = await connect();
  const { url, headers, timeoutMs = 30_000, configData } = contract;
  const post = async (body: Uint8Array): Promise<Answer> => {
    const response = await fetch(new URL("/provider", url), {
      method: "POST",
      body: new Uint8Array(body),
      headers: { "content-type": "application/json", ...headers?.(body) },
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: response.status, body: new Uint8Array(await response.arrayBuffer()) };
  };
  const nothing = new Uint8Array();
  return {
    url,
    configData,
    post,
    ask: (
      methodName: string,
      parts: {
        readonly requestData?: Uint8Array;
        readonly configData?: Uint8Array;
        readonly sessionId?: string;
      } = {},
    ) =>
      post(
        encodeRequest({
          methodName,
          requestData: nothing,
          configData: nothing,
          sessionId: "contract",
          ...parts,
          extensions: {},
        }),
      ),
    async [Symbol.asyncDispose]() {
      await contract[Symbol.asyncDispose]?.();
    },
  };
}
