// The default theme of VitePress with fonts of the reader's system, and the style of diagrams and captions.

import { useRoute } from "vitepress";
import theme from "vitepress/theme-without-fonts";
import { nextTick, onMounted, watch } from "vue";
import "./style.css";

/** The front page of the default theme has no landmark for its content. */
function markMain(): void {
  document.querySelector(".VPHome")?.setAttribute("role", "main");
}

export default {
  extends: theme,
  setup(): void {
    const route = useRoute();
    onMounted(markMain);
    watch(
      () => route.path,
      () => nextTick(markMain),
    );
  },
};
