"""A text may mix scripts as its source does; another main script is another language."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transforms.rewriting.scripts import has_marks, is_spaceless, script_of, writes_another


@given(st.text())
def test_a_text_is_in_its_own_script(text):
    assert not writes_another(text, text)


@pytest.mark.parametrize(
    ("text", "own", "is_other"),
    [("夜间车票可在 Android 和 iOS 应用 HarrowGo 中购买。",
     "夜间车票价格为三十欧元，可在 Android 和 iOS 应用中购买。", False),
     ("夜間切符の料金は420円。", "この切符はアプリからも買うことができます。", False),
     ("夜间车票价格为四欧元，可以在应用中购买。", "この切符はアプリからも買うことができます。", True),
     ("この切符は四ユーロです。", "夜间车票价格为四欧元。", True), ("The fare is 4 euros.",
     "夜间车票价格为四欧元。", True),
     ("夜间车票价格为四欧元。", "The fare is 4 euros.", True), ("Mühle", "мельница", True),
     ("Сервис Kubernetes запускает Deployment.", "Kubernetes API: сервис запускает Deployment и Pod.", False),
     ("123", "Mill", True), ("", "", False)],
)  # fmt: skip
def test_mixtures(text, own, is_other):
    assert writes_another(text, own) is is_other


def test_signs():
    assert script_of("水车") == "CJK" and is_spaceless("水") and is_spaceless("ร") and not is_spaceless("a")
    assert has_marks("रात का") and not has_marks("e\u0301")
