import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { providerCaches } from "./provider-caches.ts";

const IN_HOME = join("/h", ".cache", "stackwright");

it.each<[NodeJS.ProcessEnv, { schemas: string | undefined; digests: string | undefined }]>([
  [{ HOME: "/h" }, { schemas: join(IN_HOME, "schemas"), digests: join(IN_HOME, "digests") }],
  [
    { HOME: "/h", XDG_CACHE_HOME: "/c" },
    { schemas: "/c/stackwright/schemas", digests: "/c/stackwright/digests" },
  ],
  [
    { HOME: "/h", STACKWRIGHT_SCHEMA_CACHE: "off" },
    { schemas: undefined, digests: join(IN_HOME, "digests") },
  ],
  [
    { HOME: "/h", STACKWRIGHT_SCHEMA_CACHE: "own", STACKWRIGHT_VERIFY: "always" },
    { schemas: resolve("own"), digests: undefined },
  ],
])("of %j are %j", (env, folders) => {
  expect(providerCaches(env)).toEqual(folders);
});
