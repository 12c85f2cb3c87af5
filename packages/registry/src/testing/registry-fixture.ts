import { randomBytes, randomUUID } from "node:crypto";
import type { StorageBackend } from "@stackwright/storage";
import fastify, { type FastifyInstance } from "fastify";
import { type Authenticator, createAuthenticator } from "../access/authenticator.ts";
import { CredentialStore } from "../access/credentials.ts";
import { createKeyRing } from "../access/key-ring.ts";
import type { Role } from "../access/principal.ts";
import type { RequestContext } from "../domain/model.ts";
import type { RegistryPolicy } from "../domain/policy.ts";
import { createRegistry, type Registry } from "../registry.ts";
import { createScratchBlobs } from "./scratch-blobs.ts";
import { createTestClock, type TestClock } from "./test-clock.ts";

/** A registry on a store, with what tests need around it. */
export interface RegistryFixture extends AsyncDisposable {
  readonly registry: Registry;
  readonly credentials: CredentialStore;
  readonly authenticator: Authenticator;
  readonly clock: TestClock;
  /** Ids to be given out before random ones. */
  readonly nextIds: string[];
  /** Headers that authenticate as an account. */
  authorization(account: string, ...roles: readonly Role[]): Promise<Record<string, string>>;
  /** A fastify instance that takes the plugins; closed with the fixture. */
  server(): FastifyInstance;
}

export const TEST_REGION = "cn-north-7";
export const TEST_CONTEXT: RequestContext = { actor: "test", requestId: "test" };

/** The store belongs to the caller. */
export async function createRegistryFixture(
  storage: StorageBackend,
  policy: RegistryPolicy = {},
): Promise<RegistryFixture> {
  const stack = new AsyncDisposableStack();
  const blobs = stack.use(createScratchBlobs());
  const clock = createTestClock();
  const keys = createKeyRing([randomBytes(32)]);
  const nextIds: string[] = [];
  const registry = createRegistry({
    storage,
    blobs,
    keys,
    policy,
    clock,
    newId: () => nextIds.shift() ?? randomUUID(),
  });
  const { records } = registry.parts;
  const credentials = new CredentialStore({ records, keys, clock });
  const authenticator = createAuthenticator({ credentials, clock, region: TEST_REGION });
  const tokens = new Map<string, string>();
  return {
    registry,
    credentials,
    authenticator,
    clock,
    nextIds,
    async authorization(account, ...roles) {
      const key = `${account} ${roles.join()}`;
      let token = tokens.get(key);
      if (token === undefined) {
        const asked = roles.length === 0 ? (["admin"] as const) : roles;
        ({ token } = await credentials.createToken({ account, roles: asked }));
        tokens.set(key, token);
      }
      return { "x-auth-token": token };
    },
    server() {
      const server = fastify({
        routerOptions: { maxParamLength: 1024 },
        genReqId: () => randomUUID(),
      });
      stack.defer(() => server.close());
      return server;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
