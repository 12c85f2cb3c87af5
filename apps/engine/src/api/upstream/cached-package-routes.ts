import { ProviderAddress } from "@stackwright/provider-source";
import type { FastifyInstance } from "fastify";
import { type Static, Type } from "typebox";
import { ServerError } from "../../domain/server-error.ts";
import type { CachedEntry } from "../../upstream/upstream-cache.ts";
import { type ApiParts, routeSchema } from "../api-parts.ts";
import { timeOf } from "../runs/run-view.ts";

const CachedView = Type.Object(
  {
    provider: Type.String(),
    version: Type.String(),
    platform: Type.String(),
    bytes: Type.Integer(),
    sha256: Type.String(),
    usedAt: Type.String({ description: "When it was served last, to a minute." }),
  },
  { title: "CachedPackage" },
);
const CachedPackages = Type.Object(
  { packages: Type.Array(CachedView), bytes: Type.Integer({ description: "Of all of them." }) },
  { title: "CachedPackages" },
);
const Eviction = Type.Object(
  {
    provider: Type.Optional(
      Type.String({ minLength: 1, maxLength: 300, description: "Only of this provider." }),
    ),
    version: Type.Optional(
      Type.String({ minLength: 1, maxLength: 128, description: "Only of this version of it." }),
    ),
    maxBytes: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "Evict what was not used for longest, until all packages have no more bytes than these. Without it all are evicted.",
      }),
    ),
  },
  { additionalProperties: false, title: "PackageEviction" },
);

const PACKAGES = "/registry/upstream-packages";

/** `/registry/upstream-packages`: the packages of upstream providers that the mirror keeps. */
export function cachedPackageRoutes(fastify: FastifyInstance, parts: ApiParts): void {
  const { upstream, principalOf } = parts;

  fastify.get(
    PACKAGES,
    {
      schema: routeSchema(
        "List the packages of upstream providers in the cache, least recently used first",
        "ListCachedPackages",
        { 200: CachedPackages },
      ),
      config: { access: "viewer" },
    },
    async (request) => viewOf(await upstream.cached(principalOf(request).account)),
  );

  fastify.post<{ Body: Static<typeof Eviction> }>(
    `${PACKAGES}/evictions`,
    {
      schema: routeSchema(
        "Drop packages of upstream providers from the cache",
        "EvictPackages",
        { 200: CachedPackages },
        { body: Eviction },
      ),
      config: { access: "account-admin", once: "begun-first" },
    },
    async (request) => {
      const { provider, version, maxBytes } = request.body;
      if (version !== undefined && provider === undefined) {
        throw new ServerError("invalid_request", "version needs a provider");
      }
      const what = { provider: provider && addressOf(provider), version, maxBytes };
      return viewOf(await upstream.evict(principalOf(request).account, what));
    },
  );
}

function addressOf(text: string): string {
  try {
    return ProviderAddress.parse(text).toString();
  } catch (error) {
    throw new ServerError("invalid_request", `${text} does not name a provider`, { cause: error });
  }
}

function viewOf(entries: readonly CachedEntry[]): Static<typeof CachedPackages> {
  return {
    packages: entries.map(({ size: bytes, usedAtMs, ...entry }) => ({
      ...entry,
      bytes,
      usedAt: timeOf(BigInt(usedAtMs)),
    })),
    bytes: entries.reduce((sum, { size }) => sum + size, 0),
  };
}
