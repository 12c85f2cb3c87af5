import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_REGION,
} from "../testing/registry-fixture.ts";
import { rfsPlugin } from "./rfs-plugin.ts";

// The core of the official SDK for Node as it is: it builds, signs and sends requests, and turns errors
// into its exceptions. The part that only names operations is not published, so this test names them.

interface Call {
  readonly method: string;
  readonly url: string;
  readonly contentType?: string;
  readonly queryParams?: Record<string, unknown>;
  readonly pathParams?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
  readonly data?: Record<string, unknown>;
}

interface OfficialClient {
  sendRequest(options: Call): Promise<Record<string, unknown> & { httpStatusCode: number }>;
}

interface Sdk {
  readonly BasicCredentials: new () => Credentials;
  readonly GlobalCredentials: new () => Credentials;
  readonly ClientBuilder: new (
    init: (client: OfficialClient) => OfficialClient,
    types: string,
  ) => {
    withCredential(credentials: Credentials): {
      withEndpoint(endpoint: string): { build(): OfficialClient };
    };
  };
}

interface Credentials {
  withAk(ak: string): Credentials;
  withSk(sk: string): Credentials;
  withProjectId(id: string): Credentials;
  withDomainId(id: string): Credentials;
}

const REQUEST_ID = "8f14e45f-ceea-467f-a9a7-d5b1d9e2b9a1";
const URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:!live`;
const ACCOUNT = "d46063b5305e4910b509c15b9d2b39a1";

/** The SDK keeps a file in the home folder, and is told a scratch one. */
async function loadSdk(): Promise<{ sdk: Sdk; home: string }> {
  const home = await mkdtemp(join(tmpdir(), "sdk-home-"));
  process.env["HOME"] = home;
  const require = createRequire(import.meta.url);
  const name = "@huaweicloud/huaweicloud-sdk-core";
  const credentials = require(name) as Sdk;
  const { ClientBuilder } = require(`${name}/ClientBuilder`) as Pick<Sdk, "ClientBuilder">;
  return { sdk: { ...credentials, ClientBuilder }, home };
}

describe("the official client", () => {
  const stack = new AsyncDisposableStack();
  let fixture: RegistryFixture;
  let sdk: Sdk;
  let endpoint = "";
  let accessKey = "";
  let secretKey = "";

  beforeAll(async () => {
    const before = process.env["HOME"];
    const loaded = await loadSdk();
    sdk = loaded.sdk;
    stack.defer(async () => {
      process.env["HOME"] = before;
      await rm(loaded.home, { recursive: true, force: true });
    });
    const storage = stack.use(createMemoryStorage());
    fixture = stack.use(await createRegistryFixture(storage));
    const { registry, authenticator } = fixture;
    const server = fixture.server();
    await server.register(rfsPlugin, {
      prefix: "/v1",
      registry,
      authenticator,
      region: TEST_REGION,
    });
    await server.listen({ host: "127.0.0.1", port: 0 });
    endpoint = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    const made = await fixture.credentials.createKey({ account: ACCOUNT, roles: ["publisher"] });
    ({ accessKey, secretKey } = made);
  });
  afterAll(() => stack.disposeAsync());

  function client(secret = secretKey, kind: "project" | "account" | "none" = "project") {
    const credentials =
      kind === "account" ? new sdk.GlobalCredentials() : new sdk.BasicCredentials();
    credentials.withAk(accessKey).withSk(secret);
    if (kind === "account") credentials.withDomainId(ACCOUNT);
    else credentials.withProjectId("a61dfe3154de42829367056598d5040f");
    return new sdk.ClientBuilder((built) => built, "BasicCredentials,GlobalCredentials")
      .withCredential(credentials)
      .withEndpoint(endpoint)
      .build();
  }

  const send = (call: Call, by = client()) =>
    by.sendRequest({
      contentType: "application/json",
      queryParams: {},
      pathParams: {},
      ...call,
      headers: { "Client-Request-Id": REQUEST_ID, ...call.headers },
    });

  const PROVIDERS = "/v1/private-providers";
  const PROVIDER = `${PROVIDERS}/{provider_name}`;
  const VERSION = `${PROVIDER}/versions/{provider_version}`;

  it("drives all nine operations, with names and versions that need encoding", async () => {
    const version = "1.0.0-rc.1+build.5";
    const named = { provider_name: "hello" };
    const created = await send({
      method: "POST",
      url: PROVIDERS,
      data: {
        provider_name: "hello",
        provider_description: "größer 你好 😀",
        provider_version: "0.0.1",
        function_graph_urn: URN,
      },
    });
    expect(created).toMatchObject({
      httpStatusCode: 201,
      provider_source: "huawei.com/private-provider/hello",
    });
    const { provider_id: id } = created;
    expect(
      await send({
        method: "POST",
        url: `${PROVIDER}/versions`,
        pathParams: named,
        data: { provider_id: id, provider_version: version, function_graph_urn: URN },
      }),
    ).toMatchObject({ httpStatusCode: 201 });
    expect(
      await send({
        method: "GET",
        url: `${PROVIDER}/versions`,
        pathParams: named,
        queryParams: { sort_key: ["create_time"], sort_dir: ["asc"], limit: 10, provider_id: id },
      }),
    ).toMatchObject({
      versions: [{ provider_version: "0.0.1" }, { provider_version: version }],
      page_info: { current_count: 2, next_marker: null },
    });
    const at = { ...named, provider_version: version };
    expect(await send({ method: "GET", url: `${VERSION}/metadata`, pathParams: at })).toMatchObject(
      { function_graph_urn: URN, provider_version: version },
    );
    expect(
      await send({
        method: "PATCH",
        url: `${PROVIDER}/metadata`,
        pathParams: named,
        data: { provider_description: "new !()*'" },
      }),
    ).toMatchObject({ httpStatusCode: 204 });
    expect(
      await send({ method: "GET", url: `${PROVIDER}/metadata`, pathParams: named }),
    ).toMatchObject({ provider_description: "new !()*'", provider_id: id });
    expect(await send({ method: "GET", url: PROVIDERS, queryParams: { limit: 10 } })).toMatchObject(
      { providers: [{ provider_name: "hello" }] },
    );
    expect(await send({ method: "DELETE", url: VERSION, pathParams: at })).toMatchObject({
      httpStatusCode: 204,
    });
    expect(
      await send({
        method: "DELETE",
        url: PROVIDER,
        pathParams: named,
        queryParams: { provider_id: id },
      }),
    ).toMatchObject({ httpStatusCode: 204 });
  });

  it("works with credentials of an account too", async () => {
    const answer = await send({ method: "GET", url: PROVIDERS }, client(secretKey, "account"));
    expect(answer).toMatchObject({ httpStatusCode: 200 });
  });

  it("gets our errors as exceptions of its own", async () => {
    // It prints every refused request, with its signature.
    const quiet = vi.spyOn(process.stdout, "write").mockReturnValue(true);
    onTestFinished(() => quiet.mockRestore());
    for (const [call, by, expected] of [
      [
        { method: "POST", url: PROVIDERS, data: { provider_name: "No" } },
        client(),
        { httpStatusCode: 400, errorCode: "RF.10011166" },
      ],
      [
        { method: "GET", url: `${PROVIDER}/metadata`, pathParams: { provider_name: "absent" } },
        client(),
        { httpStatusCode: 404, errorCode: "RF.10900301" },
      ],
      [
        { method: "GET", url: PROVIDERS },
        client("wrong-secret-key-0000"),
        { httpStatusCode: 401, errorCode: "RF.10012001" },
      ],
      [
        { method: "GET", url: PROVIDERS, headers: { "Client-Request-Id": "short" } },
        client(),
        { httpStatusCode: 400, errorCode: "RF.10011006" },
      ],
    ] as const) {
      await expect(send(call, by)).rejects.toMatchObject({
        ...expected,
        requestId: expect.stringMatching(/^[0-9a-f-]{36}$/) as string,
      });
    }
    const reader = await fixture.credentials.createKey({ account: ACCOUNT, roles: ["reader"] });
    ({ accessKey, secretKey } = reader);
    await expect(
      send({ method: "POST", url: PROVIDERS, data: { provider_name: "hello" } }),
    ).rejects.toMatchObject({
      httpStatusCode: 403,
      errorCode: "RF.10012507",
      encodedAuthorizationMessage: expect.stringMatching(/.+/) as string,
    });
  });
});
