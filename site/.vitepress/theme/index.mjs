import { onContentUpdated } from 'vitepress';
import DefaultTheme from 'vitepress/theme-without-fonts';
import Diagram from './Diagram.vue';
import Start from './Start.vue';
import 'virtual:colours.css';
import './theme.css';

export default {
  extends: DefaultTheme,
  enhanceApp({ app }) {
    app.component('Diagram', Diagram);
    app.component('Start', Start);
  },
  setup() {
    // The simulator is loaded by the first page that has one.
    onContentUpdated(() => {
      if (document.querySelector('lock-lab')) void import('../../lab/index.ts');
    });
  },
};
