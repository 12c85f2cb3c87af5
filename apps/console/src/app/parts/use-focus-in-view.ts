import { useEffect } from "react";

/** Scrolls what a key gave the focus to into view as a whole. Browsers leave alone what is seen in part: the rest may be under a bar. */
export function useFocusInView(): void {
  useEffect(() => {
    const show = ({ target }: FocusEvent): void => {
      // Headings, which get the focus after a change of the page, cannot be reached by a key.
      if (!(target instanceof HTMLElement) || target.tabIndex < 0) return;
      if (target.matches(":focus-visible")) {
        target.scrollIntoView({ block: "nearest", inline: "nearest" });
      }
    };
    addEventListener("focusin", show);
    return () => removeEventListener("focusin", show);
  }, []);
}
