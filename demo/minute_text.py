"""A text that a minute of training visibly learns: the same six things said of each country."""

_SENTENCES = {
    "en": (
        "The capital of {country} is {capital}.",
        "{country} lies in {continent}.",
        "Most people in {country} speak {language}.",
        "In {capital} you hear {language} on every street.",
        "The money of {country} is the {money}.",
        "In the shops of {capital} you pay with the {money}.",
    ),
    # Only particles that do not depend on the word before them; languages all end in 어.
    "ko": (
        "{country}의 수도는 {capital}이다.",
        "{country}의 대륙은 {continent}이다.",
        "{country}에서는 {language}를 쓴다.",
        "{capital}의 거리에서는 {language}를 들을 수 있다.",
        "{country}의 화폐는 {money}이다.",
        "{capital}의 가게에서는 {money}만 받는다.",
    ),
}
_FIELDS = ("country", "capital", "continent", "language", "money")
_COUNTRIES = {
    "en": """France Paris Europe French euro
Germany Berlin Europe German euro
Spain Madrid Europe Spanish euro
Italy Rome Europe Italian euro
Portugal Lisbon Europe Portuguese euro
Greece Athens Europe Greek euro
Poland Warsaw Europe Polish zloty
Hungary Budapest Europe Hungarian forint
Sweden Stockholm Europe Swedish krona
Norway Oslo Europe Norwegian krone
Japan Tokyo Asia Japanese yen
China Beijing Asia Chinese yuan
Korea Seoul Asia Korean won
Thailand Bangkok Asia Thai baht
Vietnam Hanoi Asia Vietnamese dong
Egypt Cairo Africa Arabic pound""",
    "ko": """프랑스 파리 유럽 프랑스어 유로
독일 베를린 유럽 독일어 유로
스페인 마드리드 유럽 스페인어 유로
이탈리아 로마 유럽 이탈리아어 유로
포르투갈 리스본 유럽 포르투갈어 유로
그리스 아테네 유럽 그리스어 유로
폴란드 바르샤바 유럽 폴란드어 즈워티
헝가리 부다페스트 유럽 헝가리어 포린트
스웨덴 스톡홀름 유럽 스웨덴어 크로나
노르웨이 오슬로 유럽 노르웨이어 크로네
일본 도쿄 아시아 일본어 엔
중국 베이징 아시아 중국어 위안
한국 서울 아시아 한국어 원
태국 방콕 아시아 태국어 바트
베트남 하노이 아시아 베트남어 동
이집트 카이로 아프리카 아랍어 파운드""",
}
QUESTIONS = {"en": "The capital of France is [MASK].", "ko": "프랑스의 수도는 [MASK]이다."}


def example_text(language):
    """Return the text in "en" or "ko", a sentence a line and a blank line between countries."""
    parts = []
    for line in _COUNTRIES[language].splitlines():
        facts = dict(zip(_FIELDS, line.split(), strict=True))
        parts.append("\n".join(sentence.format(**facts) for sentence in _SENTENCES[language]))
    return "\n\n".join(parts)
