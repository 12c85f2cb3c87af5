export type { PlannedChange } from "./features/planned-hints.ts";
export type { WorkspaceLimits } from "./index/workspace.ts";
export type {
  DescribedAttribute,
  DescribedBlock,
  DescribedBlockType,
  ProviderSchemas,
  SchemasBySource,
} from "./schema/provider-schemas.ts";
export type { FolderPlan } from "./server/folder-plan.ts";
export type { LanguageHost } from "./server/language-host.ts";
export type { TrustDecision } from "./server/provider-trust.ts";
export {
  type LanguageServer,
  type LanguageServerOptions,
  serveLanguage,
} from "./server/serve-language.ts";
