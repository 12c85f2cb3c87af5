import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

// The core of the official SDK for Node as it is: it builds, signs and sends requests, follows redirects, and turns errors into its
// exceptions. The part that only names operations is not published, so that tests name them.

/** A call as the official client takes it. */
interface OfficialCall {
  readonly method: string;
  readonly url: string;
  readonly pathParams?: Readonly<Record<string, unknown>>;
  readonly queryParams?: Readonly<Record<string, unknown>>;
  readonly data?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

type Answer = Record<string, unknown> & { readonly httpStatusCode: number };

interface SdkClient {
  sendRequest(options: object): Promise<Answer>;
}

interface Credentials {
  withAk(ak: string): Credentials;
  withSk(sk: string): Credentials;
  withProjectId(id: string): Credentials;
}

interface Sdk {
  readonly BasicCredentials: new () => Credentials;
  readonly ClientBuilder: new (
    init: (client: SdkClient) => SdkClient,
    types: string,
  ) => {
    withCredential(credentials: Credentials): {
      withEndpoint(endpoint: string): { build(): SdkClient };
    };
  };
}

/** Makes the official client for an access key and a project. The SDK keeps a file in the home folder: it gets a scratch one. */
export async function officialClient(given: {
  readonly endpoint: string;
  readonly project: string;
  readonly accessKey: string;
  readonly secretKey: string;
}) {
  const before = process.env["HOME"];
  const home = await mkdtemp(join(tmpdir(), "sdk-home-"));
  process.env["HOME"] = home;
  onTestFinished(async () => {
    process.env["HOME"] = before;
    await rm(home, { recursive: true, force: true });
  });
  const require = createRequire(import.meta.url);
  const name = "@huaweicloud/huaweicloud-sdk-core";
  const { BasicCredentials } = require(name) as Pick<Sdk, "BasicCredentials">;
  const { ClientBuilder } = require(`${name}/ClientBuilder`) as Pick<Sdk, "ClientBuilder">;
  const credentials = new BasicCredentials()
    .withAk(given.accessKey)
    .withSk(given.secretKey)
    .withProjectId(given.project);
  const client = new ClientBuilder((built) => built, "BasicCredentials")
    .withCredential(credentials)
    .withEndpoint(given.endpoint)
    .build();
  return async (call: OfficialCall): Promise<Answer> =>
    client.sendRequest({
      contentType: "application/json",
      queryParams: {},
      ...call,
      pathParams: { project_id: given.project, ...call.pathParams },
      headers: { "Client-Request-Id": randomUUID(), ...call.headers },
    });
}
