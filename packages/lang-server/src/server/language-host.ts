import type { Diagnostic, ModulePackages } from "@stackwright/lang";
import type { SchemasBySource } from "../schema/provider-schemas.ts";
import type { FolderPlan } from "./folder-plan.ts";
import type { TrustDecision } from "./provider-trust.ts";

/** What the server gets from where it runs. Without any of it, it knows what the text says. */
export interface LanguageHost {
  /**
   * The schemas of the providers that the module of a folder uses, as far as they are installed. Nothing is brought. Called when
   * files of a folder are opened and saved, one call at a time.
   */
  readonly schemas?: (folder: string, signal: AbortSignal) => Promise<SchemasBySource>;
  /** Where the packages of the module calls of a folder are. They are not brought. */
  readonly packages?: (folder: string) => ModulePackages | undefined;
  /** All that a check of the saved files finds, providers asked. Called after a file is saved, one call at a time. */
  readonly validate?: (folder: string, signal: AbortSignal) => Promise<readonly Diagnostic[]>;
  /**
   * What a plan of the saved files of a folder would do, by its recorded state. Called after a save where the client asks for it
   * (`plannedChanges` of its initialization options), for trusted folders, one call at a time.
   */
  readonly plan?: (folder: string, signal: AbortSignal) => Promise<FolderPlan>;
  /**
   * Schemas and checks where no program may be started: for folders that need none, about which the user is not asked, and the schemas for folders that
   * are not trusted.
   */
  readonly withoutPrograms?: {
    /** Whether the module of a folder uses what is built in, and nothing else. */
    suffices(folder: string, signal: AbortSignal): Promise<boolean>;
    schemas(folder: string, signal: AbortSignal): Promise<SchemasBySource>;
    validate(folder: string, signal: AbortSignal): Promise<readonly Diagnostic[]>;
  };
  /** What users decided for folders before: `schemas` and `validate` are called for trusted ones alone. Without it, for all. */
  readonly trust?: {
    decision(folder: string): Promise<TrustDecision | undefined>;
    remember(root: string, decision: TrustDecision): Promise<void>;
  };
}
