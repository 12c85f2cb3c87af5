import { Type, Value } from "@stackwright/cty";
import type { AttributeSchema, BlockSchema } from "../router/schema.ts";
import type { AttributeType } from "./attribute-type.ts";
import { atMember, convertPart } from "./content-failure.ts";

/** Who gives an attribute its value: the template must, may, cannot, or may with the provider as substitute. */
export type Presence = "required" | "optional" | "computed" | "optionalComputed";

export interface AttributeOptions {
  readonly description?: string;
  readonly sensitive?: boolean;
  readonly deprecated?: boolean;
  /** A change needs a new object. */
  readonly replaces?: boolean;
  /** Only for create and update; never in a plan or state. */
  readonly writeOnly?: boolean;
  /**
   * Of a computed attribute: it keeps its value when others change. Without it every change of the object makes
   * it unknown until after the apply.
   */
  readonly stable?: boolean;
}

export interface KitAttribute<T = unknown, P extends Presence = Presence, I = T> {
  readonly of: AttributeType<T, I>;
  readonly presence: P;
  readonly options: AttributeOptions;
}

export type Attributes = Readonly<Record<string, KitAttribute>>;

/** Must be set by the template. */
export function required<T, I = T>(
  of: AttributeType<T, I>,
  options: AttributeOptions = {},
): KitAttribute<T, "required", I> {
  return { of, presence: "required", options };
}

/** May be set by the template; null otherwise. */
export function optional<T, I = T>(
  of: AttributeType<T, I>,
  options: AttributeOptions = {},
): KitAttribute<T, "optional", I> {
  return { of, presence: "optional", options };
}

/** Decided by the provider. */
export function computed<T, I = T>(
  of: AttributeType<T, I>,
  options: AttributeOptions = {},
): KitAttribute<T, "computed", I> {
  return { of, presence: "computed", options };
}

/** May be set by the template; decided by the provider otherwise. */
export function optionalComputed<T, I = T>(
  of: AttributeType<T, I>,
  options: AttributeOptions = {},
): KitAttribute<T, "optionalComputed", I> {
  return { of, presence: "optionalComputed", options };
}

type Content<A> = A extends KitAttribute<infer T, Presence, infer _> ? T : never;
type Input<A> = A extends KitAttribute<infer _, Presence, infer I> ? I : never;
type IsRequired<A> = A extends KitAttribute<unknown, "required"> ? true : false;

/** A whole object: what is required is there, everything else may be null. */
export type StateOf<A extends Attributes> = {
  readonly [K in keyof A]: IsRequired<A[K]> extends true ? Content<A[K]> : Content<A[K]> | null;
};

/** An object of which parts may not be known yet: those are `undefined`. */
export type PartlyKnown<A extends Attributes> = {
  readonly [K in keyof A]: Content<A[K]> | null | undefined;
};

/**
 * What was decided; what is left out, or undefined, is as it was planned, or null. Besides the form that provider code gets, maps
 * may be plain objects, sets `Set`s, exact numbers bigints or numbers, and values of any type plain data.
 */
export type HandlerResult<A extends Attributes> = {
  readonly [K in keyof A]?: Input<A[K]> | null | undefined;
};

/** What an older version stored, as far as the present types have it: the rest is left out. */
export type StoredOf<A extends Attributes> = { readonly [K in keyof A]?: Content<A[K]> | null };

/** The object type of values with these attributes. */
export function typeOfAttributes(attributes: Attributes): ObjectTypeOf {
  const members = Object.entries(attributes);
  return Type.object(members.map(([name, { of }]) => [name, of.type] as const));
}

type ObjectTypeOf = Extract<Type, { kind: "object" }>;

export function blockOfAttributes(attributes: Attributes, description = ""): BlockSchema {
  return {
    attributes: new Map(
      Object.entries(attributes).map(([name, attribute]) => [name, schemaOf(attribute)]),
    ),
    blocks: new Map(),
    deprecated: false,
    description,
  };
}

function schemaOf({ of, presence, options }: KitAttribute): AttributeSchema {
  return {
    type: of.type,
    required: presence === "required",
    optional: presence === "optional" || presence === "optionalComputed",
    computed: presence === "computed" || presence === "optionalComputed",
    sensitive: options.sensitive ?? false,
    writeOnly: options.writeOnly ?? false,
    deprecated: options.deprecated ?? false,
    description: options.description ?? "",
  };
}

/**
 * The members of an object value; unknown ones, and all of an unknown object, as `undefined`.
 *
 * @throws ContentFailure with the attribute whose value has no JavaScript form
 */
export function contentOf<A extends Attributes>(attributes: A, value: Value): PartlyKnown<A> {
  const members = new Map<string, Value>(value.isKnown && !value.isNull ? value.entries() : []);
  return Object.fromEntries(
    Object.entries(attributes).map(([name, { of }]) => {
      const member = members.get(name);
      if (member === undefined || !member.isWhollyKnown) return [name, undefined];
      if (member.isNull) return [name, null];
      return [name, convertPart(atMember(name), () => of.fromValue(member))];
    }),
  ) as PartlyKnown<A>;
}

/** Members of an object value by name, each replaced by what `change` returns. */
export function mapMembers(
  attributes: Attributes,
  value: Value,
  change: (name: string, member: Value, attribute: KitAttribute) => Value,
): Value {
  const members = new Map(value.entries());
  return Value.object(
    Object.entries(attributes).map(([name, attribute]) => {
      const member = members.get(name) ?? Value.null(attribute.of.type);
      return [name, change(name, member, attribute)] as const;
    }),
  );
}

/**
 * The value of one decided member, of exactly the attribute's type.
 *
 * @throws ContentFailure with the part that does not fit
 */
export function valueOf(name: string, { of }: KitAttribute, content: unknown): Value {
  if (content === null || content === undefined) return Value.null(of.type);
  return convertPart(atMember(name), () => of.toValue(content));
}
