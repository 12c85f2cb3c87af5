import type { Expression, ScopeTraversal } from "../syntax/ast.ts";
import { jsonExpression } from "../syntax/json-expression.ts";
import type { JsonObjectNode, JsonSyntaxNode } from "../syntax/json-tree.ts";
import { expressionReferences } from "../syntax/references.ts";
import { staticKeyword } from "../syntax/static.ts";
import type { ConfigBody } from "./body-content.ts";

/**
 * All references in a body that no schema has been applied to yet, with what is inside of its
 * blocks. The iterators of `dynamic` blocks are no references inside of these. `skip` names
 * arguments and blocks at the top of the body that are skipped.
 */
export function bodyReferences(
  body: ConfigBody,
  skip: ReadonlySet<string> = NONE,
): ScopeTraversal[] {
  return collectReferences(body, skip).all;
}

/** The references of a body; some of them may never be evaluated. */
interface BodyReferences {
  readonly all: ScopeTraversal[];
  /** Those in the content of `dynamic` blocks, which may turn out to be none. */
  readonly perhaps: ReadonlySet<ScopeTraversal>;
}

/** As {@link bodyReferences}, telling apart what stands in the content of `dynamic` blocks. */
export function collectReferences(
  body: ConfigBody,
  skip: ReadonlySet<string> = NONE,
): BodyReferences {
  const found = new Found();
  collect(body, NONE, skip, found);
  return found;
}

class Found implements BodyReferences {
  readonly all: ScopeTraversal[] = [];
  readonly perhaps = new Set<ScopeTraversal>();
  #depth = 0;

  add(expression: Expression, local: ReadonlySet<string>): void {
    for (const reference of expressionReferences(expression)) {
      if (local.has(reference.root)) continue;
      this.all.push(reference);
      if (this.#depth > 0) this.perhaps.add(reference);
    }
  }

  inContent(run: () => void): void {
    this.#depth++;
    run();
    this.#depth--;
  }
}

const NONE: ReadonlySet<string> = new Set();

function collect(
  body: ConfigBody,
  local: ReadonlySet<string>,
  skip: ReadonlySet<string>,
  found: Found,
): void {
  if (body.kind === "merged-body") {
    collect(body.base, local, skip, found);
    collect(body.over, local, skip, found);
    return;
  }
  if (body.kind === "json-body") {
    for (const object of body.objects) collectMembers(object, local, skip, found);
    return;
  }
  for (const item of body.items) {
    if (item.kind === "attribute") {
      if (!skip.has(item.name)) found.add(item.expression, local);
    } else if (item.type === "dynamic" && item.labels[0] !== undefined) {
      collectDynamic(item.body, item.labels[0].value, local, found);
    } else if (!skip.has(item.type)) {
      collect(item.body, local, NONE, found);
    }
  }
}

/** `dynamic "x" { for_each, iterator, labels, content }`: its iterator is a name in the content. */
function collectDynamic(
  body: Extract<ConfigBody, { kind: "body" }>,
  type: string,
  local: ReadonlySet<string>,
  found: Found,
): void {
  let iterator = type;
  for (const item of body.items) {
    if (item.kind === "attribute" && item.name === "iterator") {
      iterator = staticKeyword(item.expression) ?? type;
    }
  }
  const inner = new Set(local).add(iterator);
  for (const item of body.items) {
    if (item.kind === "block") found.inContent(() => collect(item.body, inner, NONE, found));
    else if (item.name === "for_each") found.add(item.expression, local);
    else if (item.name === "labels") found.add(item.expression, inner);
  }
}

/** In JSON blocks and arguments look alike; dynamic blocks are recognized by their form. */
function collectJson(value: JsonSyntaxNode, local: ReadonlySet<string>, found: Found): void {
  if (value.kind === "array") {
    for (const element of value.elements) collectJson(element, local, found);
    return;
  }
  if (value.kind !== "object") {
    found.add(jsonExpression(value, []), local);
    return;
  }
  collectMembers(value, local, NONE, found);
}

function collectMembers(
  { members }: JsonObjectNode,
  local: ReadonlySet<string>,
  skip: ReadonlySet<string>,
  found: Found,
): void {
  for (const { name, value } of members) {
    if (skip.has(name.value) || name.value === "//") continue;
    if (name.value === "dynamic" && value.kind === "object") {
      for (const member of value.members) {
        collectJsonDynamic(member.value, member.name.value, local, found);
      }
    } else {
      found.add(jsonExpression(name, []), local);
      collectJson(value, local, found);
    }
  }
}

function collectJsonDynamic(
  value: JsonSyntaxNode,
  type: string,
  local: ReadonlySet<string>,
  found: Found,
): void {
  for (const block of value.kind === "array" ? value.elements : [value]) {
    if (block.kind !== "object") continue;
    const iterator = block.members.find(({ name }) => name.value === "iterator")?.value;
    const inner = new Set(local).add(iterator?.kind === "string" ? iterator.value : type);
    for (const { name, value: part } of block.members) {
      if (name.value === "iterator") continue;
      if (name.value === "for_each") collectJson(part, local, found);
      else found.inContent(() => collectJson(part, inner, found));
    }
  }
}
