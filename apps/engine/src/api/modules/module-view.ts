import type { ModuleVersion } from "@stackwright/proto/stackwright";
import { type Static, Type } from "typebox";
import {
  MODULE_PART,
  MODULE_SYSTEM,
  MODULE_VERSION,
  type ModuleName,
} from "../../modules/module-name.ts";
import type { StoredModule } from "../../modules/module-versions.ts";
import { timeOf } from "../runs/run-view.ts";

const name = {
  namespace: Type.String({ pattern: MODULE_PART }),
  name: Type.String({ pattern: MODULE_PART }),
  system: Type.String({ pattern: MODULE_SYSTEM }),
};
export const ModuleParams = Type.Object(name);
export const ModuleVersionParams = Type.Object({
  ...name,
  version: Type.String({ pattern: MODULE_VERSION, maxLength: 96 }),
});

export const PublishQuery = Type.Object(
  {
    source: Type.Optional(
      Type.String({ maxLength: 1024, description: "where the publisher has it from" }),
    ),
    commit: Type.Optional(Type.String({ pattern: "^[0-9a-f]{7,64}$" })),
  },
  { additionalProperties: false },
);

export const WithdrawQuery = Type.Object(
  { reason: Type.Optional(Type.String({ maxLength: 500 })) },
  { additionalProperties: false },
);

export const PublishedVersionView = Type.Object(
  {
    version: Type.String(),
    digest: Type.String({ description: "of the files" }),
    sha256: Type.Optional(Type.String({ description: "of the archive" })),
    archive_bytes: Type.Integer(),
    source: Type.Optional(Type.String()),
    commit: Type.Optional(Type.String()),
    actor: Type.String(),
    published_at: Type.String(),
    withdrawn_at: Type.Optional(Type.String()),
    withdrawn_reason: Type.Optional(Type.String()),
  },
  { title: "PublishedModuleVersion" },
);

export const PublishedModuleView = Type.Object(
  {
    ...name,
    latest: Type.Optional(
      Type.String({ description: "the newest version that is offered and no pre-release" }),
    ),
    versions: Type.Array(PublishedVersionView, { description: "newest first" }),
  },
  { title: "PublishedModule" },
);

const text = Type.String();
const flag = Type.Boolean();

export const ModuleDocumentationView = Type.Object(
  {
    version: PublishedVersionView,
    modules: Type.Array(
      Type.Object({
        path: Type.String({ description: "folder in the package; empty for the module itself" }),
        readme: text,
        inputs: Type.Array(
          Type.Object({
            name: text,
            type: text,
            description: text,
            required: flag,
            default: Type.Optional(text),
            sensitive: flag,
          }),
        ),
        outputs: Type.Array(Type.Object({ name: text, description: text, sensitive: flag })),
        providers: Type.Array(Type.Object({ name: text, source: text, version: text })),
        resources: Type.Array(text),
        calls: Type.Array(Type.Object({ name: text, source: text, version: text })),
      }),
    ),
  },
  { title: "ModuleDocumentation" },
);

/** The module of a request. */
export function moduleOf({ namespace, name: own, system }: ModuleName): ModuleName {
  return { namespace, name: own, system };
}

export function publishedVersionViewOf(
  version: ModuleVersion,
): Static<typeof PublishedVersionView> {
  const { archiveSha256, source, commit, withdrawnAtMs, withdrawnReason } = version;
  return {
    version: version.version,
    digest: version.digest,
    ...(archiveSha256 !== "" && { sha256: archiveSha256 }),
    archive_bytes: Number(version.archiveBytes),
    ...(source !== "" && { source }),
    ...(commit !== "" && { commit }),
    actor: version.actor,
    published_at: timeOf(version.publishedAtMs),
    ...(withdrawnAtMs !== 0n && { withdrawn_at: timeOf(withdrawnAtMs) }),
    ...(withdrawnReason !== "" && { withdrawn_reason: withdrawnReason }),
  };
}

export function publishedModuleViewOf({
  module,
  versions,
}: StoredModule): Static<typeof PublishedModuleView> {
  const latest = versions.find(
    ({ version, withdrawnAtMs }) => withdrawnAtMs === 0n && !version.includes("-"),
  );
  return {
    ...module,
    ...(latest !== undefined && { latest: latest.version }),
    versions: versions.map(publishedVersionViewOf),
  };
}
