import type { Type } from "@stackwright/cty";

/** How often a nested block or a nested attribute object may occur, and as what it is seen. */
export type Nesting = "single" | "group" | "list" | "set" | "map";

/** How a description is written. @default "plain" */
export type DescriptionKind = "plain" | "markdown";

/** One attribute of a block or of a nested attribute object. */
export interface AttributeSchema {
  /** Its type; for `nested` attributes the type that the nested object implies. */
  readonly type: Type;
  /** Set for attributes that are objects with attributes of their own (protocol 6). */
  readonly nested?: NestedAttributeSchema;
  readonly required: boolean;
  readonly optional: boolean;
  /** The provider may decide its value. With `optional`: only where the configuration has none. */
  readonly computed: boolean;
  readonly sensitive: boolean;
  /** Taken from the configuration and never stored: null in every plan and state. */
  readonly writeOnly: boolean;
  readonly deprecated: boolean;
  readonly description: string;
  /** @default "plain" */
  readonly descriptionKind?: DescriptionKind;
}

export interface NestedAttributeSchema {
  readonly nesting: Exclude<Nesting, "group">;
  readonly attributes: ReadonlyMap<string, AttributeSchema>;
}

/** A block type inside another block. */
export interface NestedBlockSchema {
  readonly nesting: Nesting;
  readonly block: BlockSchema;
  /** At least and at most so many; `maxItems` 0 means no limit. */
  readonly minItems: number;
  readonly maxItems: number;
}

/** What may stand in a configuration block; also the shape of the object it evaluates to. */
export interface BlockSchema {
  readonly attributes: ReadonlyMap<string, AttributeSchema>;
  readonly blocks: ReadonlyMap<string, NestedBlockSchema>;
  readonly deprecated: boolean;
  readonly description: string;
  /** @default "plain" */
  readonly descriptionKind?: DescriptionKind;
}

export interface ResourceSchema {
  /** Version of the stored form; objects stored under a lower one are upgraded first. */
  readonly version: number;
  readonly block: BlockSchema;
  /** Attributes that name the real object, where the provider has resource identity. */
  readonly identity?: {
    readonly version: number;
    readonly attributes: ReadonlyMap<string, IdentityAttributeSchema>;
  };
  /** Objects exist nowhere but in the state: a call whose answer was lost has done nothing. */
  readonly stateOnly?: boolean;
  /** An apply notes what it has made so far, see `LifecycleContext.note`. */
  readonly hasNotes?: boolean;
}

export interface IdentityAttributeSchema {
  readonly type: Type;
  /** Needed, or allowed, to import by identity. */
  readonly requiredForImport: boolean;
  readonly optionalForImport: boolean;
  readonly description: string;
}

export interface FunctionParameterSchema {
  readonly name: string;
  readonly type: Type;
  readonly allowNull: boolean;
  readonly allowUnknown: boolean;
  readonly description: string;
}

export interface FunctionSchema {
  readonly parameters: readonly FunctionParameterSchema[];
  readonly variadic?: FunctionParameterSchema;
  readonly returnType: Type;
  readonly summary: string;
  readonly description: string;
  readonly deprecationMessage: string;
}

/** Everything that a provider declares. Maps are by type or function name, in the provider's order. */
export interface ProviderSchema {
  /** Its configuration. */
  readonly provider: BlockSchema;
  /** What a module may say to the provider about itself, where the provider listens. */
  readonly providerMeta?: BlockSchema;
  readonly resources: ReadonlyMap<string, ResourceSchema>;
  readonly dataSources: ReadonlyMap<string, ResourceSchema>;
  readonly ephemeralResources: ReadonlyMap<string, ResourceSchema>;
  readonly functions: ReadonlyMap<string, FunctionSchema>;
  /** Names that several types would have and none has, with the names that those have. @default none */
  readonly ambiguous?: ReadonlyMap<string, readonly string[]>;
  /** What types are called that the provider itself knows by tokens: names by token. @default it knows none by tokens */
  readonly tokens?: TypeTokens;
}

export interface TypeTokens {
  readonly resources: ReadonlyMap<string, string>;
  readonly dataSources: ReadonlyMap<string, string>;
}
