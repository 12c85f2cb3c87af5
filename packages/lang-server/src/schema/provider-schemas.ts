import type { SchemaAttribute, SchemaBlock, SchemaBlockType } from "@stackwright/lang";

/** An attribute with what its provider says of it. */
export interface DescribedAttribute extends SchemaAttribute {
  /** Plain text or Markdown. */
  readonly description?: string;
}

/** A body with what its provider says of it. */
export interface DescribedBlock extends SchemaBlock {
  readonly attributes: ReadonlyMap<string, DescribedAttribute>;
  readonly blocks: ReadonlyMap<string, DescribedBlockType>;
  readonly description?: string;
}

export interface DescribedBlockType extends SchemaBlockType {
  readonly block: DescribedBlock;
}

type ByType = ReadonlyMap<string, { readonly block: DescribedBlock }>;

/** The schemas of one provider. Those of the router of `@stackwright/mux` have this form. */
export interface ProviderSchemas {
  readonly provider: DescribedBlock;
  readonly resources: ByType;
  readonly dataSources: ByType;
  readonly ephemeralResources: ByType;
  /** Names that several types would have, so that none has them. */
  readonly ambiguous?: ReadonlyMap<string, unknown>;
}

/** The schemas of providers by source, such as `registry.terraform.io/hashicorp/aws`. */
export type SchemasBySource = ReadonlyMap<string, ProviderSchemas>;
