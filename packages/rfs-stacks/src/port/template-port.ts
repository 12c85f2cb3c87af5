import type { RfsCaller } from "./rfs-stacks-port.ts";
import type { RfsTemplateFile } from "./stack-port.ts";

export interface RfsTemplateVersion {
  readonly number: number;
  readonly description: string;
  readonly createdAtMs: number;
}

/** A template that has a name, with its versions, the oldest first. */
export interface RfsTemplate {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly versions: readonly RfsTemplateVersion[];
}

export interface NewRfsTemplateVersion extends RfsTemplateFile {
  readonly description: string;
}

/** The templates of projects. */
export interface TemplatePort {
  find(caller: RfsCaller, project: string, name: string): Promise<RfsTemplate | undefined>;
  /** Newest first. */
  list(caller: RfsCaller, project: string): Promise<readonly RfsTemplate[]>;
  /** Returns its id; undefined where the name is taken. */
  create(
    caller: RfsCaller,
    project: string,
    given: { readonly name: string; readonly description: string },
    version: NewRfsTemplateVersion,
    signal: AbortSignal,
  ): Promise<string | undefined>;
  change(caller: RfsCaller, project: string, name: string, description: string): Promise<void>;
  remove(caller: RfsCaller, project: string, name: string): Promise<void>;
  /** Returns its number. */
  addVersion(
    caller: RfsCaller,
    project: string,
    name: string,
    version: NewRfsTemplateVersion,
    signal: AbortSignal,
  ): Promise<number>;
  removeVersion(caller: RfsCaller, project: string, name: string, version: number): Promise<void>;
  /** For an address that was signed. */
  templateFile(target: {
    readonly account: string;
    readonly project: string;
    readonly template: string;
    readonly version: number;
  }): Promise<RfsTemplateFile | undefined>;
}
