import { componentOf, type DocumentSchema } from "./document.ts";

/** How a type is written: names of components as links, values as code. */
export interface TypeStyle {
  readonly link: (component: string) => string;
  readonly code: (text: string) => string;
}

/** The type of a schema in words, such as "list of string". Members of objects are not in it. */
export function typeText(schema: DocumentSchema, style: TypeStyle): string {
  if (schema.$ref !== undefined) return style.link(componentOf(schema.$ref));
  if (schema.anyOf !== undefined) {
    return [...new Set(schema.anyOf.map((one) => typeText(one, style)))].join(" or ");
  }
  if (schema.const !== undefined) return style.code(JSON.stringify(schema.const));
  if (schema.enum !== undefined) {
    return schema.enum.map((value) => style.code(JSON.stringify(value))).join(", ");
  }
  if (schema.type === "array") return `list of ${typeText(schema.items ?? {}, style)}`;
  if (schema.type === "object" && schema.properties === undefined) {
    const { additionalProperties: values } = schema;
    return typeof values === "object" ? `map of ${typeText(values, style)}` : "object";
  }
  return schema.type ?? "any value";
}

/** What a schema limits, such as "1 to 200"; empty where it limits nothing. */
export function limitsText(schema: DocumentSchema, style: Pick<TypeStyle, "code">): string {
  const limits = [
    rangeText(schema.minimum, schema.maximum, ""),
    rangeText(schema.minLength, schema.maxLength, " characters"),
    rangeText(schema.minItems, schema.maxItems, " members"),
    rangeText(undefined, schema.maxProperties, " members"),
  ];
  if (schema.exclusiveMinimum !== undefined) limits.push(`more than ${schema.exclusiveMinimum}`);
  if (schema.format !== undefined) limits.push(schema.format);
  if (schema.pattern !== undefined) limits.push(style.code(schema.pattern));
  if (schema.default !== undefined) {
    limits.push(`${style.code(JSON.stringify(schema.default))} without it`);
  }
  return limits.filter((limit) => limit !== "").join(", ");
}

function rangeText(least: number | undefined, most: number | undefined, unit: string): string {
  const shown = (value: number): string => value.toLocaleString("en-US");
  if (most === undefined) {
    return least === undefined || (least === 0 && unit !== "")
      ? ""
      : `at least ${shown(least)}${unit}`;
  }
  if (least === undefined) return `at most ${shown(most)}${unit}`;
  return least === most ? `${shown(most)}${unit}` : `${shown(least)} to ${shown(most)}${unit}`;
}

/** One member of an object, also of objects in it: `runs[].id`. */
interface Member {
  readonly path: string;
  readonly isRequired: boolean;
  readonly schema: DocumentSchema;
}

/** The members of a schema, and of the objects without a name of their own in it. */
export function membersOf(schema: DocumentSchema, prefix = ""): readonly Member[] {
  const { properties = {}, required = [], items, anyOf = [] } = schema;
  const own = Object.entries(properties).flatMap(([name, member]) => {
    const path = prefix === "" ? name : `${prefix}.${name}`;
    return [
      { path, isRequired: required.includes(name), schema: member },
      ...membersOf(member, path),
    ];
  });
  const ofItems = items === undefined ? [] : membersOf(items, `${prefix}[]`);
  const { additionalProperties: values } = schema;
  const ofValues = typeof values === "object" ? membersOf(values, `${prefix}.*`) : [];
  return [...own, ...ofItems, ...ofValues, ...anyOf.flatMap((one) => membersOf(one, prefix))];
}
