'use strict';
(() => {
  const slider = document.getElementById('step');
  const frames = [...document.querySelectorAll('.frame')];
  const show = () => {
    frames.forEach((frame, i) => { frame.hidden = i !== Number(slider.value); });
    document.getElementById('shown').value = frames[slider.value].dataset.step;
  };
  slider.addEventListener('input', show);
  show();
})();
