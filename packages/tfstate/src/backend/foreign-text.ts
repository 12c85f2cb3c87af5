const SHOWN = 200;

/**
 * A text of another program on one line of a message: it must neither move the cursor of a terminal nor fill it. At most 200
 * characters; `?` for each that is not visible.
 */
export function foreignText(text: string): string {
  const shown = text.slice(0, SHOWN).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
  return text.length > SHOWN ? `${shown}...` : shown;
}
