/** Lets `create` and `fromPartial` take maps whose values are partial messages. */
export function allowPartialMapValues(name: string, source: string): string {
  const oneof = "  : T extends { $case: string;";
  const parts = source.split(oneof);
  if (parts.length !== 2) throw new Error(`${name}: DeepPartial is not what it was`);
  return parts.join(
    `  : T extends ReadonlyMap<infer K, infer V> ? ReadonlyMap<K, DeepPartial<V>>\n${oneof}`,
  );
}
