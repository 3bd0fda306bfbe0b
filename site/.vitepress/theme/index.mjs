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
};
